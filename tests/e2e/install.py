#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
install.py BUILD: `cmake --install` puts everything in place and nothing else: what systemd needs names what is there,
an administrator's configuration is left alone, and programs run from where they are.
"""
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import elf_paths  # noqa: E402
import kept  # noqa: E402

# Below the prefix; * stands for the processor's directory and for versions.
FILES = """
bin/ingero
bin/ingero-cli
bin/ingero-mcp
lib*/libingero.so.0
lib*/libingero.so.0.*
lib/ingero/10-perf.conf
lib/systemd/system/ingero-collectord.service
lib/systemd/system/ingero-collectord.socket
lib/systemd/system/ingero-mcp.service
lib/systemd/system-generators/ingero-generator
lib/systemd/system-preset/80-ingero.preset
lib/sysusers.d/ingero.conf
lib/tmpfiles.d/ingero.conf
sbin/ingero-collectord
share/bash-completion/completions/ingero
share/bash-completion/completions/ingero-cli
share/fish/vendor_completions.d/ingero-cli.fish
share/fish/vendor_completions.d/ingero.fish
share/man/man1/ingero-cli.1
share/man/man1/ingero.1
share/man/man8/ingero-collectord.8
share/zsh/site-functions/_ingero
""".split()


UNITS = ("ingero-collectord.service", "ingero-mcp.service")


def install(build, root):
    return subprocess.run(["cmake", "--install", build], env={**os.environ, "DESTDIR": root}, capture_output=True, text=True, check=False)


def test_run_builds(check, build, there):
    """What `./dev run` builds is all that an install needs: README's next command is that one."""
    dev = (HERE.parents[1] / "dev").read_text(encoding="utf-8")
    targets = re.search(r"^\tbuild release --target (.*)$", dev, re.M).group(1).split()
    done = subprocess.run(["ninja", "-C", build, "-t", "commands", *targets], capture_output=True, text=True, check=False)
    check("what ./dev run builds are targets", done.returncode == 0, done.stderr)
    words = set(re.split(r"[\s=]+", done.stdout)) | set(re.split(r"[\s=]+", done.stdout.replace(build + "/", "")))
    made = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], capture_output=True, text=True, check=True).stdout
    made = {os.path.normpath(os.path.join(build, line.rsplit(":", 1)[0])) for line in made.splitlines()}
    names = sorted(os.path.relpath(name, build) for name in there & made)
    check("files that are built are installed", len(names) > 5, names)
    for name in names:
        check(f"./dev run builds {name}", name in words)


def installed_from(build):
    """Files of the build that `cmake --install` copies."""
    for script in pathlib.Path(build).rglob("cmake_install.cmake"):
        for files in re.findall(r"file\(INSTALL DESTINATION [^)]*?\sFILES\s([^)]*)\)", script.read_text(encoding="utf-8")):
            yield from re.findall(r'"([^"]+)"', files)
        yield from re.findall(r"file\(INSTALL \"([^\"]+)\"", script.read_text(encoding="utf-8"))


def test_unit(check, root, prefix):
    users = pathlib.Path(root + prefix, "lib/sysusers.d/ingero.conf").read_text(encoding="utf-8")
    preset = pathlib.Path(root + prefix, "lib/systemd/system-preset/80-ingero.preset").read_text(encoding="utf-8")
    for name in UNITS:
        unit = pathlib.Path(root + prefix, "lib/systemd/system", name).read_text(encoding="utf-8")
        program = re.search(r"^ExecStart=(\S+)", unit, re.M).group(1)
        check(f"{name} starts what is there", os.access(root + program, os.X_OK), program)
        user = re.search(r"^User=(\S+)", unit, re.M).group(1)
        check(f"the user of {name} is made", re.search(rf"^u {user} ", users, re.M), user)
        check(f"{name} is off until it is enabled", f"disable {name}\n" in preset, preset)
    generator = pathlib.Path(root + prefix, "lib/systemd/system-generators/ingero-generator").read_text(encoding="utf-8")
    linked = re.search(r'ln -sf "(\S+)"', generator).group(1)
    check("the generator links what is there", os.path.exists(root + linked), linked)
    if shutil.which("systemd-analyze"):
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", f"--root={root}", *UNITS], capture_output=True, text=True, check=False)
        # that other units are not below that root is no news; a line of ours that it does not understand is
        said = [line for line in (done.stdout + done.stderr).splitlines() if re.search(r"ingero\S*:\d+: ", line)]
        check("systemd understands every line", not said, *said)


def test_pages(check, root, prefix):
    """What a page or the unit refers to is a page."""
    pages = pathlib.Path(root + prefix, "share/man")
    unit = pathlib.Path(root + prefix, "lib/systemd/system/ingero-collectord.service").read_text(encoding="utf-8")
    named = re.findall(r"^Documentation=man:(\S+)\((\d)\)", unit, re.M)
    check("the unit names its program's page", named == [("ingero-collectord", "8")], named)
    for page in pages.glob("man*/*"):
        text = page.read_text(encoding="utf-8").replace("\\-", "-")
        named += re.findall(r"\b(ingero[a-z-]*)(?: ?\()(\d)\)", text)
        for link in re.findall(r"^\.so (\S+)", text, re.M):
            check(f"{page.name} is a page that is there", (pages / link).is_file(), link)
    for name, section in named:
        check(f"{name}({section}) is there", (pages / f"man{section}" / f"{name}.{section}").is_file())


def test_completions(check, build, root, prefix):
    """Each is what the program prints for that shell."""
    for shell, path in (("bash", "bash-completion/completions/ingero"), ("zsh", "zsh/site-functions/_ingero"),
                        ("fish", "fish/vendor_completions.d/ingero.fish")):
        told = subprocess.run([os.path.join(build, "bin", "ingero"), "completion", shell], capture_output=True, text=True, check=True).stdout
        file = pathlib.Path(root + prefix, "share", path)
        check(f"completion for {shell}", file.is_file() and file.read_text(encoding="utf-8") == told)


def test_generator(check, root, prefix):
    """Which kernel this is decides whether the drop-in is there; either way it does not fail."""
    path = root + prefix + "/lib/systemd/system-generators/ingero-generator"
    target = os.path.join(root, "generated")
    os.mkdir(target)
    done = subprocess.run(["bash", path, target, target, target], capture_output=True, text=True, check=False)
    with open("/sys/kernel/btf/vmlinux", "rb") as file:
        has_multi = b"bpf_uprobe_multi_link" in file.read()
    is_there = os.path.lexists(os.path.join(target, "ingero-collectord.service.d/10-perf.conf"))
    check("the generator ends well", done.returncode == 0 and not done.stderr, done.stderr)
    check("the drop-in is where uprobe_multi is not", is_there != has_multi, is_there, has_multi)
    shutil.rmtree(target)


# A library that says that it was loaded, instead of what it is named for.
FOREIGN = '#include <unistd.h>\n__attribute__((constructor)) static void loaded(void) { (void)!write(1, "FOREIGN\\n", 8); _exit(66); }\n'


def test_foreign(check, root, programs):
    """What lies in the current directory under the name of a library that a program needs is not loaded, built and installed alike."""
    programs = [os.path.abspath(program) for program in programs]
    here = os.path.join(root, "foreign")
    os.mkdir(here)
    for program in programs:
        told = subprocess.run(["readelf", "--dynamic", program], capture_output=True, text=True, check=True).stdout
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", told):
            if not os.path.exists(os.path.join(here, name)):
                subprocess.run(["cc", "-shared", "-fPIC", "-nostdlib", "-x", "c", "-", "-o", os.path.join(here, name)], input=FOREIGN, text=True, check=True)
    for program in programs:
        done = subprocess.run([program, "--version"], cwd=here, capture_output=True, text=True, check=False)
        check(f"{program} loads nothing from where it is called", done.returncode == 0 and "FOREIGN" not in done.stdout, done.returncode,
              done.stdout, done.stderr)
    shutil.rmtree(here)


def main(build):
    check = kept.Checks()
    cache = pathlib.Path(build, "CMakeCache.txt").read_text(encoding="utf-8")
    prefix = re.search(r"^CMAKE_INSTALL_PREFIX:PATH=(.*)$", cache, re.M).group(1)
    with tempfile.TemporaryDirectory(prefix="ingero-install-") as root:
        done = install(build, root)
        check("installs", done.returncode == 0, done.stderr)
        there = sorted(os.path.join(directory, name)[len(root):] for directory, _, names in os.walk(root) for name in names)
        wanted = [*(f"{prefix}/{name}" for name in FILES), "/etc/ingero/ingero.yaml"]
        for name in wanted:
            check(f"{name} is there", fnmatch.filter(there, name), there)
        strangers = [name for name in there if not any(fnmatch.fnmatch(name, pattern) for pattern in wanted)]
        check("nothing else is", not strangers, strangers)

        problems, n = elf_paths.problems_below(root)
        check("no library is looked for where strangers may put one", not problems and n == 4, n, *problems)
        test_foreign(check, root, [f"{directory}/{name}" for directory in (f"{build}/bin", f"{root}{prefix}/bin") for name in ("ingero", "ingero-cli")]
                     + [f"{build}/bin/ingero-collectord", f"{root}{prefix}/sbin/ingero-collectord"])
        test_run_builds(check, build, set(installed_from(build)))
        test_unit(check, root, prefix)
        test_pages(check, root, prefix)
        test_completions(check, build, root, prefix)
        if os.path.exists("/sys/kernel/btf/vmlinux"):
            test_generator(check, root, prefix)

        config = os.path.join(root, "etc/ingero/ingero.yaml")
        daemon = f"{root}{prefix}/sbin/ingero-collectord"
        with open(config, encoding="utf-8") as file:
            sample = file.read()
        done = subprocess.run([daemon, "--config-check", "sample"], input=sample, capture_output=True, text=True, check=False)
        check("the sample is right", done.returncode == 0 and not done.stderr, done.stderr)
        # each line of it that says a value is right, too
        spoken = re.sub(r"^  #(?=[a-z-]+: [^'])", "  ", sample, flags=re.M)
        done = subprocess.run([daemon, "--config-check", "sample"], input=spoken, capture_output=True, text=True, check=False)
        check("so are its values", spoken != sample and done.returncode == 0, done.stderr)
        with open(config, "w", encoding="utf-8") as file:
            file.write("# mine\n")
        check("installs again", install(build, root).returncode == 0)
        with open(config, encoding="utf-8") as file:
            check("and leaves what is the administrator's", file.read() == "# mine\n")

        for name in ("ingero", "ingero-cli"):
            done = subprocess.run([f"{root}{prefix}/bin/{name}", "version"], capture_output=True, text=True, check=False)
            check(f"{name} runs", done.returncode == 0 and done.stdout.startswith("ingero "), done.stderr)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
