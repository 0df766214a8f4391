// Reads the digits in the page, and shows picture, answer and digest of each.
import { readDigits } from "./digits.mjs";

const at = (id) => document.getElementById(id);

async function fetched(name) {
  const answer = await fetch(new URL(name, import.meta.url));
  if (!answer.ok) throw new Error(`${name}: ${answer.status} ${answer.statusText}`);
  return answer.arrayBuffer();
}

function picture(ink) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 8;
  const context = canvas.getContext("2d"), image = context.createImageData(8, 8);
  ink.forEach((amount, i) => image.data.set([0, 0, 0].map(() => 255 * (1 - amount)).concat(255), 4 * i));
  context.putImageData(image, 0, 0);
  return canvas;
}

function shown({ ink, digit, chance, meant }) {
  const item = document.createElement("li"), says = document.createElement("div");
  says.textContent = `a ${digit}, ${(100 * chance).toFixed(1)}%`;
  says.className = digit === meant ? "right" : "wrong";
  item.append(picture(ink), says);
  return item;
}

try {
  const { version, answers, digest, published } = await readDigits(fetched);
  at("digits").replaceChildren(...answers.map(shown));
  const right = answers.filter(({ digit, meant }) => digit === meant).length;
  at("digest").textContent = digest;
  at("published").textContent = published;
  at("said").textContent = `${right} of 10 are right, says Sardonyx ${version} in this browser.`;
  document.body.dataset.done = "yes";
} catch (error) {
  at("said").textContent = String(error);
  document.body.dataset.done = "failed";
  throw error;
}
