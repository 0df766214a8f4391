// The digits in node: node examples/browser/node.mjs
import { readFile } from "node:fs/promises";
import { readDigits } from "./digits.mjs";

const { version, answers, digest, published } = await readDigits((name) => readFile(new URL(name, import.meta.url)));
for (const { digit, chance, meant } of answers) {
  console.log(`a ${digit}, ${(100 * chance).toFixed(1)}%${digit === meant ? "" : " (wrong)"}`);
}
console.log(`${answers.filter(({ digit, meant }) => digit === meant).length} of 10 are right, says Sardonyx ${version}.`);
console.log(`pictures ${digest}`);
console.log(`published ${published}`);
