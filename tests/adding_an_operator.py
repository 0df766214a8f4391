#!/usr/bin/python3
"""Follows docs/adding_an_operator.md to the letter: adding_an_operator.py BUILD SOURCE.

An operator is added in a copy of src/ops, piece by piece as the page has it, with its two lines in the list; it is
compiled and linked with what the build has ready, and its cases run. Then the reference is broken on purpose, as the page
asks, and a case must fail.
"""
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

BUILD, SOURCE = (pathlib.Path(path).resolve() for path in sys.argv[1:3])

# What each section of the page asks for, for y = x / 4.
PIECES = {
    "1. The attributes, as kernels want them": """
struct Quarter {
  float by;
};
""",
    "2. The history": """
constexpr Version kHistory[] = {
    {1, "(x: T) -> (y: T) {by: float = 4} T in floats"},
};
""",
    "3. read: the only code that knows opset numbers": """
Result<Quarter> read(const Node& node, const Facts&) { return Quarter{node.f("by")}; }
""",
    "4. infer: facts of the outputs": """
Result<Facts> infer(const Quarter&, const Facts& in) { return Facts{like(in[0])}; }
""",
    "5. reference: the meaning": """
// y = x / by, rounded to the type.
Status reference(const Quarter& a, Args& args) {
  visit_floats(args.in(0).type, [&]<class T>() {
    for (size_t i = 0; i < args.in(0).count; ++i)
      args.out().data<T>()[i] = store<T>(load(args.in(0).data<T>()[i]) / Compute<T>(a.by));
  });
  return ok();
}
""",
    "6. kernels: the same bits, faster": "",
    "7. cases: tests, benchmarks and examples": """
std::vector<Case> cases() {
  return {{.name = "a_fourth",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({2}, {4, -2})},
           .expected = {Tensor::of<float>({2}, {1, -.5f})}},
          {.name = "halves", .opset = 1, .attrs = {}, .inputs = {noise(DType::f16, {3, 7})}}};
}
""",
    "8. The value, and its line in the list": """
constexpr OpOf<Quarter> kQuarter{
    .name = "Quarter",
    .doc = "A fourth.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
    .domain = "example",
};
""",
}


def commands():
    """How the build compiles src/ops/list.cc: for the library, and for the cases."""
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8")):
        if entry["file"] == str(SOURCE / "src/ops/list.cc"):
            found["SDX_CASES" in entry["command"]] = shlex.split(entry["command"])
    return found[False], found[True]


def link_command(target):
    """The last command that makes a target, without what follows it."""
    lines = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", target], capture_output=True, text=True, check=True).stdout
    command = [line for line in lines.splitlines() if f"-o {target} " in line][-1]
    return shlex.split(next(part for part in command.split("&&") if f"-o {target} " in part))


def compile_file(command, work, file, name):
    words = [word for word in command if word not in ("-c",)]
    at = words.index("-o")
    words = words[:at] + words[at + 2:-1]  # neither the old output nor the old source
    words = [f"-I{work}/road" if word == f"-I{BUILD}/road/ops" else word for word in words]
    output = work / f"{name}.o"
    subprocess.run([*words, "-c", work / "ops" / file, "-o", output], cwd=BUILD, check=True)
    return str(output)


def link(target, work, output, changes, extra):
    words = [changes.get(word, word) for word in link_command(target)]
    words[words.index("-o") + 1] = str(output)
    words[words.index("-o") + 2:words.index("-o") + 2] = extra
    subprocess.run(words, cwd=BUILD, check=True)


def tests_pass(program, work):
    done = subprocess.run([program, "--gtest_filter=example/Quarter.*", "--gtest_brief=1"], capture_output=True, text=True,
                          check=False, env={"LD_LIBRARY_PATH": str(work)})
    count = re.search(r"(\d+) tests? from", done.stdout)
    return done.returncode == 0, int(count.group(1)) if count else 0, done.stdout + done.stderr


def main():
    page = (SOURCE / "docs/adding_an_operator.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (\d\..*)$", page, re.MULTILINE)
    assert sections[:len(PIECES)] == list(PIECES), f"the page's sections are {sections}"
    for words in ("one line in `list.h`, one in `list.cc`", "Break the reference on purpose once and see a case fail"):
        assert words in page, words
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        shutil.copytree(SOURCE / "src/ops", work / "ops")
        (work / "road").mkdir()
        (work / "road/ops").symlink_to(work / "ops")
        file = work / "ops/elementwise/quarter.cc"
        file.write_text("// Quarter.\n#include \"ops/common.h\"\n#include \"ops/elementwise/element.h\"\n#include \"ops/noise.h\"\n"
                        "namespace sdx::ops {\nnamespace {\n" + "".join(PIECES.values()) +
                        "}  // namespace\nextern const Op quarter = erase<kQuarter>();\n}  // namespace sdx::ops\n", encoding="utf-8")
        # "In the order of their C++ names": behind the last name that comes before it.
        for name, line in (("list.h", "extern const Op {};"), ("list.cc", "    &{},")):
            text = (work / "ops" / name).read_text(encoding="utf-8")
            pattern = re.escape(line).replace(r"\{\}", "([a-z_0-9]+)")
            before = max(found for found in re.findall(pattern, text) if found < "quarter")
            where = line.format(before)
            (work / "ops" / name).write_text(text.replace(where, where + "\n" + line.format("quarter"), 1), encoding="utf-8")
        library, cases = commands()
        made = [compile_file(library, work, "elementwise/quarter.cc", "quarter"), compile_file(library, work, "list.cc", "list")]
        twins = [compile_file(cases, work, "elementwise/quarter.cc", "quarter_cases"),
                 compile_file(cases, work, "list.cc", "list_cases")]
        old = "tests/cases/CMakeFiles/sdx_cases.dir/__/__/src/ops/list.cc.o"
        link("tests/cases/libsdx_cases.so", work, work / "libsdx_cases.so", {old: twins[1]}, [twins[0]])
        program = work / "ops_test"
        changes = {"tests/cases/libsdx_cases.so": str(work / "libsdx_cases.so")}
        link("ops_test", work, program, changes, made)
        passed, count, printed = tests_pass(program, work)
        assert passed and count >= 2, printed
        print(f"the operator was added; {count} tests of its cases pass")
        file.write_text(file.read_text(encoding="utf-8").replace("Compute<T>(a.by)", "Compute<T>(a.by + 1)"), encoding="utf-8")
        compile_file(library, work, "elementwise/quarter.cc", "quarter")
        link("ops_test", work, program, changes, made)
        passed, _, printed = tests_pass(program, work)
        assert not passed and "a_fourth" in printed, printed
        print("with its reference broken, a case fails")


main()
