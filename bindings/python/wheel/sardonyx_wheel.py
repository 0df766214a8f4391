"""The build backend of pyproject.toml (PEP 517): builds the extension with CMake and packs it into a wheel.

The wheel is for the Python that builds it and carries the shared libraries that a manylinux wheel may not take from the system: the
extension looks for them in sardonyx.libs, beside its package. SARDONYX_BUILD names a build folder; without it, `build` is used if
it was made for this Python, and `build-wheel` otherwise.
"""

import base64
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
# What PEP 600's profiles let a wheel take from the system.
SYSTEM = re.compile(r"(linux-vdso|ld-linux.*|lib(c|m|dl|rt|util|nsl|pthread|resolv|gcc_s|stdc\+\+|z|expat)|libpython.*)\.so.*")
TEXT = "Requires-Dist: numpy"


def version():
    """Of the project, as CMake knows it."""
    return re.search(r"^project\(Sardonyx VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]


def metadata():
    """The wheel's METADATA."""
    return "\n".join(["Metadata-Version: 2.1", "Name: sardonyx", f"Version: {version()}",
                      "Summary: An ONNX engine: the same output bits on every machine", "License: Apache-2.0",
                      "Requires-Python: >=3.8", TEXT, "Description-Content-Type: text/markdown", "",
                      (ROOT / "README.md").read_text(encoding="utf-8")])


def python():
    """The interpreter itself, not a virtual environment's link to it."""
    return os.path.realpath(sys.executable)


def build_folder():
    """A folder that was, or will be, configured for this Python."""
    if "SARDONYX_BUILD" in os.environ:
        return pathlib.Path(os.environ["SARDONYX_BUILD"]).resolve()
    cache = ROOT / "build" / "CMakeCache.txt"
    made_for = re.search(r"^Python_EXECUTABLE:\w+=(.*)$", cache.read_text(), re.MULTILINE) if cache.exists() else None
    if made_for and os.path.realpath(made_for[1]) == python() and (ROOT / "build" / "build.ninja").exists():
        return ROOT / "build"
    return ROOT / "build-wheel"


def build():
    """Builds the extension and returns its path."""
    folder = build_folder()
    if not (folder / "build.ninja").exists():
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        f"-DPython_EXECUTABLE={python()}"], check=True)
    jobs = os.environ.get("JOBS", str(os.cpu_count() or 1))
    subprocess.run(["cmake", "--build", folder, "-j", jobs, "--target", "sardonyx_python"], check=True)
    module, = (folder / "python" / "sardonyx").glob(f"_sardonyx*{sysconfig.get_config_var('EXT_SUFFIX')}")
    return module


def libraries(module):
    """Shared libraries that the extension needs, directly or not, and that the wheel must bring: name to path."""
    said = subprocess.run(["ldd", module], check=True, capture_output=True, text=True).stdout
    found = {}
    for name, path in re.findall(r"^\s*(\S+) => (\S+)", said, re.MULTILINE):
        if path == "not":
            raise SystemExit(f"{name}, which {module} needs, is not on this machine")
        if not SYSTEM.fullmatch(name):
            found[name] = path
    return found


def tag():
    """cp311-cp311-manylinux_2_36_x86_64: this Python, and this machine's C library."""
    abi = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    kind, number = platform.libc_ver()
    system = f"manylinux_{number.replace('.', '_')}" if kind == "glibc" else "linux"
    return f"{abi}-{abi}-{system}_{platform.machine()}"


def digest(content):
    """As RECORD has it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


class Wheel:
    """A zip file that knows its RECORD; the same bytes for the same content."""

    def __init__(self, path, info):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.info, self.record = info, []

    def add(self, name, content, mode=0o644):
        """One file."""
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
        self.zip.writestr(entry, content)
        self.record.append(f"{name},{digest(content)},{len(content)}")

    def close(self):
        """RECORD comes last."""
        lines = self.record + [f"{self.info}/RECORD,,", ""]
        self.zip.writestr(zipfile.ZipInfo(f"{self.info}/RECORD", (1980, 1, 1, 0, 0, 0)), "\n".join(lines))
        self.zip.close()


def add_metadata(wheel, info):
    """The .dist-info folder."""
    wheel.add(f"{info}/METADATA", metadata().encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: sardonyx\nRoot-Is-Purelib: false\nTag: {tag()}\n".encode())
    wheel.add(f"{info}/entry_points.txt", b"[console_scripts]\nsardonyx = sardonyx.__main__:main\n")
    wheel.add(f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes())


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517."""
    module = build()
    name, info = f"sardonyx-{version()}-{tag()}.whl", f"sardonyx-{version()}.dist-info"
    wheel = Wheel(pathlib.Path(wheel_directory) / name, info)
    package = ROOT / "bindings/python/sardonyx"
    for path in sorted(package.rglob("*")):
        if path.suffix in (".py", ".pyi") or path.name == "py.typed":
            wheel.add(f"sardonyx/{path.relative_to(package)}", path.read_bytes())
    wheel.add(f"sardonyx/{module.name}", stripped(module), 0o755)
    for library, path in sorted(libraries(module).items()):
        wheel.add(f"sardonyx.libs/{library}", pathlib.Path(path).read_bytes(), 0o755)
    add_metadata(wheel, info)
    wheel.close()
    return name


def stripped(module):
    """The module without symbols that nobody looks up."""
    copy = module.with_name(module.name + ".stripped")
    subprocess.run(["strip", "--strip-unneeded", "-o", copy, module], check=True)
    content = copy.read_bytes()
    copy.unlink()
    return content


def build_sdist(sdist_directory, config_settings=None):
    """PEP 517: what git holds."""
    name = f"sardonyx-{version()}"
    files = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True).stdout.decode().split("\0")
    with tarfile.open(pathlib.Path(sdist_directory) / f"{name}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for file in filter(None, files):
            archive.add(ROOT / file, f"{name}/{file}", recursive=False)
    return f"{name}.tar.gz"


def get_requires_for_build_wheel(config_settings=None):
    """Nothing that a package index would have."""
    return []


get_requires_for_build_sdist = get_requires_for_build_wheel
