#!/usr/bin/env python3
"""Checks the links of all markdown files of the repository, and that the book has every page of docs/.

    tools/check_links.py                        # exit status 0: nothing found; 1: findings, one a line
    tools/check_links.py --book target/book     # the same of the pages that mdBook made

* A relative link leads to a file or folder that is there, and its anchor to a heading of it.
* A link in docs/ stays in docs/: the book (book.toml) has nothing else, so it would lead nowhere there.
* docs/SUMMARY.md names every page of docs/ once.
* Words in `code` that look like paths of the repository (`crates/...`, `examples/...`) are there.

Addresses of the web are not asked.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SUMMARY = DOCS / "SUMMARY.md"
FENCE = re.compile(r"^\s*(```+|~~~+)")
CODE = re.compile(r"(`+)(.+?)\1")
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^\s{0,3}\[[^\]]+\]:\s+(\S+)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
PATH = re.compile(r"(?:crates|docs|examples|fuzz|python|tests|tools|\.github)/[\w./-]+")
# Paths that begin so may be those of a crate.
OF_CRATES = ("examples/", "fuzz/", "tests/")
# A name of the reader's, such as `crates/NAME`.
PLACEHOLDER = re.compile(r"\b(?:NAME|FAMILY|PASS|TARGET|sm_XX?)\b")


def pages():
    """Every markdown file that git knows or would take."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.md"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def lines_of(path):
    """Number and text of each line that is not in a block of code."""
    fence = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        mark = FENCE.match(line)
        if fence is None and mark:
            fence = mark[1]
        elif fence is None:
            yield number, line
        elif mark and mark[1].startswith(fence) and line.strip() == mark[1]:
            fence = None


def anchor(heading):
    """What GitHub and mdBook make of a heading."""
    text = LINK.sub(lambda link: re.match(r"\[(.*)\]", link[0])[1], heading.replace("`", ""))
    kept = [letter for letter in text.strip().lower() if letter.isalnum() or letter in " -_"]
    return "".join(kept).replace(" ", "-")


def anchors_of(path, known={}):
    """The anchors of a page; the second heading of a name gets `-1`."""
    if path not in known:
        names = {}
        found = known[path] = set()
        for _, line in lines_of(path):
            if heading := HEADING.match(line):
                name = anchor(heading[1])
                found.add(f"{name}-{names[name]}" if name in names else name)
                names[name] = names.get(name, 0) + 1
    return known[path]


def fault_of_link(page, target):
    """What is wrong with a link, or nothing."""
    if re.match(r"[a-z][a-z0-9+.-]*:", target):
        return None
    name, _, fragment = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    if not file.exists():
        return f"{target}: there is no such file"
    if DOCS in page.parents and file != DOCS and DOCS not in file.parents:
        return f"{target}: leads out of docs/, so nowhere in the book"
    if fragment and file.suffix == ".md" and fragment not in anchors_of(file):
        return f"{target}: no heading of {file.relative_to(ROOT)} has this anchor"
    return None


def fault_of_path(text):
    """The same of a path in code."""
    if not PATH.fullmatch(text) or PLACEHOLDER.search(text):
        return None
    of_crates = ROOT.glob(f"crates/*/{text}") if text.startswith(OF_CRATES) else ()
    return None if (ROOT / text).exists() or any(of_crates) else f"`{text}`: there is no such file"


def faults_of_book(book):
    """The links of the pages' own text that lead nowhere."""
    texts = {page.resolve(): page.read_text(encoding="utf-8") for page in book.rglob("*.html")}
    names = {page: set(re.findall(r'\sid="([^"]+)"', text)) for page, text in texts.items()}
    for page, text in sorted(texts.items()):
        own = re.search(r"<main>(.*?)</main>", text, re.DOTALL)
        # print.html is all pages in one, whose links are those of its parts.
        if own is None or page.name == "print.html":
            continue
        for link in re.findall(r'href="([^"]+)"', own[1]):
            name, _, fragment = link.partition("#")
            file = (page.parent / urllib.parse.unquote(name)).resolve() if name else page
            is_there = file.exists() and (not fragment or urllib.parse.unquote(fragment) in names.get(file, {fragment}))
            if not re.match(r"[a-z][a-z0-9+.-]*:", link) and not is_there:
                yield f"{page.relative_to(book.resolve())}: {link} leads nowhere"


def faults_of_pages():
    """What is wrong with the repository's files."""
    findings = []
    for page in pages():
        name = page.relative_to(ROOT)
        for number, line in lines_of(page):
            plain = CODE.sub(lambda code: "`" * len(code[0]), line)
            targets = LINK.findall(plain) + REFERENCE.findall(plain)
            faults = [fault_of_link(page, target) for target in targets]
            faults += [fault_of_path(code) for _, code in CODE.findall(line)]
            findings += [f"{name}:{number}: {fault}" for fault in faults if fault]
    if SUMMARY.is_file():
        listed = [target for _, line in lines_of(SUMMARY) for target in LINK.findall(line)]
        for page in sorted(DOCS.rglob("*.md")):
            times = listed.count(str(page.relative_to(DOCS)))
            if page != SUMMARY and times != 1:
                findings.append(f"docs/SUMMARY.md: {page.relative_to(ROOT)} stands there {times} times")
    return findings


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--book", type=pathlib.Path, help="a folder that mdBook wrote")
    book = parser.parse_args().book
    findings = faults_of_pages() if book is None else list(faults_of_book(book))
    print("\n".join(findings) if findings else "all links lead somewhere")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
