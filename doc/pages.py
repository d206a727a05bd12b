#!/usr/bin/env python3
"""All pages for a browser: the manual by mandoc, the Markdown of doc/ by this file, with links between them.

usage: doc/pages.py DIRECTORY

DIRECTORY gets NAME.html for each doc/NAME.md, NAME.SECTION.html for each page of man/, and style.css. A page
that a text names, such as awf-run(1), is a link; a link that leads nowhere is an error, and so is Markdown that
this file does not know: headings, paragraphs, lists, tables, blocks of code, code, emphasis and links are what
it knows. Nothing is read but the tree, and nothing is fetched.
"""
import html
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Which documents there are, in the order in which every page names them.
DOCUMENTS = {"index": "By task", "tutorial": "Tutorial", "cookbook": "Cookbook"}
SECTIONS = {"1": "Programs", "3": "C library", "5": "Files", "7": "Overviews and protocols"}
PAGE = re.compile(r"\b(awf[a-z_-]*)\((\d)\)")


class Unknown(Exception):
    """Markdown, or a link, that this file can make nothing of."""


def pages():
    return sorted(ROOT.glob("man/*.[1357]"), key=lambda page: (page.suffix, page.stem))


def anchor(heading):
    """What forges make of a heading, so that links lead to the same place there."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")


def linked_pages(text):
    """TEXT is HTML: names of pages become links."""
    def link(match):
        name, section = match.groups()
        if not (ROOT / f"man/{name}.{section}").exists():
            return match.group(0)
        return f'<a href="{name}.{section}.html">{match.group(0)}</a>'
    return PAGE.sub(link, text)


def target(link, document):
    """Where a link of a document leads, seen from DIRECTORY, which is installed beside the examples."""
    if re.match(r"https?:|#", link):
        return link
    path, _, place = link.partition("#")
    file = (document.parent / path).resolve()
    if not file.exists():
        raise Unknown(f"{document.name}: a link leads nowhere: {link}")
    inside = file.relative_to(ROOT)
    if inside.parts[0] == "doc" and file.suffix == ".md":
        if place and place not in {anchor(heading) for _, heading in headings(file)}:
            raise Unknown(f"{document.name}: no such heading: {link}")
        return file.stem + ".html" + ("#" + place if place else "")
    if inside.parts[0] == "man":
        return file.name + ".html"
    return "../" + str(inside)


def headings(document):
    found = []
    code = False
    for line in document.read_text().splitlines():
        if line.startswith("```"):
            code = not code
        elif not code and (match := re.match(r"(#+) (.*)", line)):
            found.append((len(match.group(1)), match.group(2)))
    return found


def inline(text, document):
    """A text without blocks, as HTML."""
    parts = []
    # Between backquotes nothing else counts.
    for i, part in enumerate(re.split(r"(?<!`)`([^`]+)`(?!`)", text)):
        if i % 2:
            parts.append("<code>" + html.escape(part, quote=False) + "</code>")
            continue
        part = html.escape(part, quote=False)
        part = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", part)
        part = re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])", r"<em>\1</em>", part)
        parts.append(part)
    text = "".join(parts)
    if "`" in re.sub(r"<code>.*?</code>", "", text):
        raise Unknown(f"{document.name}: a backquote without another: {text}")
    pieces = []
    end = 0
    for match in re.finditer(r"\[((?:[^][]|\[[^]]*\])*)\]\(([^()\s]+)\)", text):
        pieces.append(linked_pages(text[end:match.start()]))
        pieces.append(f'<a href="{target(html.unescape(match.group(2)), document)}">{match.group(1)}</a>')
        end = match.end()
    return "".join(pieces) + linked_pages(text[end:])


def table(rows, document):
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))] for row in rows]
    if len(cells) < 2 or not all(re.fullmatch(r":?-+:?", cell) for cell in cells[1]):
        raise Unknown(f"{document.name}: not a table: {rows[0]}")
    shown = ["<table>"]
    for i, row in enumerate(cells):
        if i == 1 or not any(row):
            continue
        kind = "th" if i == 0 else "td"
        shown.append("<tr>" + "".join(f"<{kind}>{inline(cell.replace(chr(92) + '|', '|'), document)}</{kind}>" for cell in row) + "</tr>")
    return shown + ["</table>"]


def rendered(document):
    """The HTML of a document's blocks, line by line."""
    shown = []
    lines = document.read_text().splitlines()
    i = 0
    while i < len(lines):
        line = lines[i]
        if not line.strip():
            i += 1
        elif line.startswith("```"):
            end = lines.index("```", i + 1)
            kind = line[3:].split(" ")[0] or "text"
            shown.append(f'<pre class="{kind}" tabindex="0">' + html.escape("\n".join(lines[i + 1:end]), quote=False) + "</pre>")
            i = end + 1
        elif re.fullmatch(r"<!--.*-->", line):
            i += 1
        elif match := re.match(r"(#+) (.*)", line):
            depth, text = len(match.group(1)), match.group(2)
            shown.append(f'<h{depth} id="{anchor(text)}">{inline(text, document)}</h{depth}>')
            i += 1
        elif line.startswith("|"):
            end = i
            while end < len(lines) and lines[end].startswith("|"):
                end += 1
            shown += table(lines[i:end], document)
            i = end
        elif line.startswith("- "):
            items = []
            while i < len(lines) and lines[i].strip() and re.match(r"- |  ", lines[i]):
                if lines[i].startswith("- "):
                    items.append(lines[i][2:])
                else:
                    items[-1] += " " + lines[i].strip()
                i += 1
            shown.append("<ul>" + "".join(f"<li>{inline(item, document)}</li>" for item in items) + "</ul>")
        elif re.match(r"[>*+=~]|\d+\. |    |<", line):
            raise Unknown(f"{document.name}:{i + 1}: not known here: {line}")
        else:
            end = i
            while end < len(lines) and lines[end].strip() and not re.match(r"```|#|\||- ", lines[end]):
                end += 1
            shown.append("<p>" + inline("\n".join(lines[i:end]), document) + "</p>")
            i = end
    return shown


def contents(document):
    """Links to the headings of the second and third depth."""
    items = [(depth, text) for depth, text in headings(document) if depth in (2, 3)]
    return ["<nav class=\"contents\" aria-label=\"Contents\"><ul>"] + [
        f'<li class="depth{depth}"><a href="#{anchor(text)}">{inline(text, document)}</a></li>'
        for depth, text in items] + ["</ul></nav>"]


def page(title, body):
    named = " ".join(f'<a href="{name}.html">{text}</a>' for name, text in DOCUMENTS.items())
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<link rel="stylesheet" href="style.css">
</head>
<body>
<header><nav aria-label="Documents"><strong>AWF</strong> {named} <a href="index.html#all-pages">All pages</a></nav></header>
<main>
{body}
</main>
</body>
</html>
"""


def manual():
    """The list of the pages of the manual, by section."""
    shown = ['<h2 id="all-pages">All pages</h2>']
    for section, title in SECTIONS.items():
        shown.append(f"<h3>{title}</h3><dl>")
        for file in pages():
            if file.suffix != "." + section:
                continue
            what = re.search(r"^\.Nd (.*)", file.read_text(), re.M).group(1)
            shown.append(f'<dt><a href="{file.name}.html">{file.stem}({section})</a></dt><dd>{html.escape(what)}</dd>')
        shown.append("</dl>")
    return shown


def formatted(file):
    """A page of the manual, with links to those that are here only, and the anchors that mandoc makes."""
    made = subprocess.run(["mandoc", "-Thtml", "-O", "fragment,man=%N.%S.html", str(file)],
                          check=True, capture_output=True, text=True).stdout

    def link(match):
        name = match.group(1).removesuffix(".html")
        return match.group(0) if (ROOT / "man" / name).exists() else f'<span class="Xr">{match.group(2)}</span>'
    made = re.sub(r'<a class="Xr" href="([^"]*)">(.*?)</a>', link, made, flags=re.S)
    # A section of another page, which stands before or behind its name, is no place in this one.
    there = set(re.findall(r' id="([^"]*)"', made))
    made = re.sub(r'<a class="Sx" href="#([^"]*)">(.*?)</a>',
                  lambda found: found.group(0) if found.group(1) in there else f'<span class="Sx">{found.group(2)}</span>',
                  made, flags=re.S)
    # Contents before the first section.
    places = [f'<li class="depth{2 if kind == "Sh" else 3}"><a href="#{there}">{title}</a></li>' for kind, there, title in
              re.findall(r'<h\d class="(Sh|Ss)" id="([^"]*)"><a [^>]*>(.*?)</a></h\d>', made, re.S)]
    first = re.search(r'<section class="Sh">|<h\d class="Sh"', made).start()
    made = made[:first] + '<nav class="contents" aria-label="Contents"><ul>' + "".join(places) + "</ul></nav>" + made[first:]
    # What is wider than the page is moved by keys, too.
    made = made.replace("<pre>", '<pre tabindex="0">')
    return page(f"{file.stem}({file.suffix[1:]})", made)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: doc/pages.py DIRECTORY")
    place = pathlib.Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    try:
        for name in DOCUMENTS:
            document = ROOT / f"doc/{name}.md"
            blocks = rendered(document)
            if name == "index":
                blocks += manual()
            else:
                blocks[1:1] = contents(document)
            (place / f"{name}.html").write_text(page("AWF: " + DOCUMENTS[name], "\n".join(blocks)))
    except Unknown as fault:
        sys.exit(f"pages.py: {fault}")
    for file in pages():
        (place / f"{file.name}.html").write_text(formatted(file))
    shutil.copy(ROOT / "doc/style.css", place)


if __name__ == "__main__":
    main()
