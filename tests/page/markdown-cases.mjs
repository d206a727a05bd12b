// Texts for the Markdown of the page (markdown.mjs, and the scenario markdown of drive.mjs).
// forms: [text, what it is]: elements by their names, without the line feeds between them; a link to nowhere is
// <a href="">. hostile: [name, text]: texts that are to be shown as text or as safe elements, in little time.

const many = (text, n) => text.repeat(n);

export const forms = [
	// Headings.
	["# a", "<h1>a</h1>"], ["###### a", "<h6>a</h6>"], ["####### a", "<p>####### a</p>"], ["#a", "<p>#a</p>"], ["#", "<h1></h1>"],
	["## a ##", "<h2>a</h2>"], ["## a #b", "<h2>a #b</h2>"], ["# a#", "<h1>a#</h1>"], ["   # a", "<h1>a</h1>"], ["\\# a", "<p># a</p>"],
	["# *a*", "<h1><em>a</em></h1>"], ["a\n===", "<h1>a</h1>"], ["a\n---", "<h2>a</h2>"], ["a\nb\n===", "<h1>a\nb</h1>"],
	["===", "<p>===</p>"], ["a\n\n===", "<p>a</p><p>===</p>"], ["> a\n---", "<blockquote><p>a</p></blockquote><hr>"], ["a\n    ---", "<p>a\n---</p>"],
	["> a\n===", "<blockquote><p>a\n===</p></blockquote>"],
	// Rules.
	["---", "<hr>"], ["***", "<hr>"], ["_ _ _", "<hr>"], ["--", "<p>--</p>"], ["- - -", "<hr>"], ["--a", "<p>--a</p>"], ["a\n***\nb", "<p>a</p><hr><p>b</p>"],
	["* a\n***\n* b", "<ul><li>a</li></ul><hr><ul><li>b</li></ul>"],
	// Paragraphs and line breaks.
	["a\nb", "<p>a\nb</p>"], ["a\n\nb", "<p>a</p><p>b</p>"], ["a  \nb", "<p>a<br>b</p>"], ["a\\\nb", "<p>a<br>b</p>"], ["a \nb", "<p>a\nb</p>"], ["  a\n b", "<p>a\nb</p>"],
	["a\r\nb", "<p>a\nb</p>"], ["a\rb", "<p>a\nb</p>"], ["", ""], ["\n \n", ""], ["a<br>b", "<p>a<br>b</p>"], ["a  ", "<p>a</p>"], ["a\\", "<p>a\\</p>"],
	// Emphasis.
	["*a*", "<p><em>a</em></p>"], ["_a_", "<p><em>a</em></p>"], ["**a**", "<p><strong>a</strong></p>"], ["__a__", "<p><strong>a</strong></p>"],
	["***a***", "<p><em><strong>a</strong></em></p>"], ["a*b*c", "<p>a<em>b</em>c</p>"], ["a_b_c", "<p>a_b_c</p>"], ["* a *", "<ul><li>a *</li></ul>"],
	["a * b *", "<p>a * b *</p>"], ["**a*", "<p>*<em>a</em></p>"], ["*a**", "<p><em>a</em>*</p>"], ["*a **b** c*", "<p><em>a <strong>b</strong> c</em></p>"],
	["**a *b* c**", "<p><strong>a <em>b</em> c</strong></p>"], ["*a **b* c**", "<p><em>a <em><em>b</em> c</em></em></p>"], ["\\*a*", "<p>*a*</p>"], ["*a\\**", "<p><em>a*</em></p>"],
	["**a**b", "<p><strong>a</strong>b</p>"], ["foo*bar*", "<p>foo<em>bar</em></p>"], ["\"*a*\"", "<p>\"<em>a</em>\"</p>"], ["a*\"b\"*", "<p>a*\"b\"*</p>"],
	["snake_case_name", "<p>snake_case_name</p>"], ["_(a)_.", "<p><em>(a)</em>.</p>"], ["*a _b* c_", "<p><em>a _b</em> c_</p>"], ["*(**a**)*", "<p><em>(<strong>a</strong>)</em></p>"],
	["**a\nb**", "<p><strong>a\nb</strong></p>"], ["*a `*` b*", "<p><em>a <code>*</code> b</em></p>"], ["****", "<hr>"], ["a ****", "<p>a ****</p>"],
	["*foo**bar*", "<p><em>foo**bar</em></p>"], ["**foo*bar**", "<p><strong>foo*bar</strong></p>"], ["***a** b*", "<p><em><strong>a</strong> b</em></p>"],
	["***a* b**", "<p><strong><em>a</em> b</strong></p>"], ["~~a~~", "<p><del>a</del></p>"], ["~a~", "<p><del>a</del></p>"], ["~~a~", "<p>~~a~</p>"],
	["a~~~b~~~", "<p>a~~~b~~~</p>"], ["**~~a~~**", "<p><strong><del>a</del></strong></p>"], ["日**本**語", "<p>日<strong>本</strong>語</p>"],
	// Code in a line.
	["`a`", "<p><code>a</code></p>"], ["`` a`b ``", "<p><code>a`b</code></p>"], ["`a", "<p>`a</p>"], ["``a`", "<p>``a`</p>"], ["` a `", "<p><code>a</code></p>"],
	["`  `", "<p><code>  </code></p>"], ["`a\nb`", "<p><code>a b</code></p>"], ["`\\`", "<p><code>\\</code></p>"], ["`<b>`", "<p><code>&lt;b&gt;</code></p>"],
	["`&amp;`", "<p><code>&amp;amp;</code></p>"], ["*a`*`", "<p>*a<code>*</code></p>"], ["\\`a`", "<p>`a`</p>"], ["` `` `", "<p><code>``</code></p>"], ["`[a](b)`", "<p><code>[a](b)</code></p>"],
	// Blocks of code.
	["```\na\n```", "<pre>a\n</pre>"], ["```c\na\n```", "<pre c>a\n</pre>"], ["~~~\na\n~~~", "<pre>a\n</pre>"], ["````\n```\n````", "<pre>```\n</pre>"],
	["```\na", "<pre>a\n</pre>"], ["```\n\n  a\n```", "<pre>\n  a\n</pre>"], ["  ```\n  a\n   b\n  ```", "<pre>a\n b\n</pre>"], ["```\n~~~\n```", "<pre>~~~\n</pre>"],
	["``` a`b\nc", "<p>``` a`b\nc</p>"], ["~~~ a`b\nc", "<pre a`b>c\n</pre>"], ["    a\n    b", "<pre>a\nb\n</pre>"], ["    a\n\n    b", "<pre>a\n\nb\n</pre>"],
	["a\n    b", "<p>a\nb</p>"], ["\ta", "<pre>a\n</pre>"], ["    a\nb", "<pre>a\n</pre><p>b</p>"], ["```\n\ta\n```", "<pre>\ta\n</pre>"], ["a\n```\nb\n```\nc", "<p>a</p><pre>b\n</pre><p>c</p>"],
	["```\n```", "<pre></pre>"], ["```\n# a\n- b\n```", "<pre># a\n- b\n</pre>"], ["``` js x\na\n```", "<pre js x>a\n</pre>"], ["```\na\n``` b\n```", "<pre>a\n``` b\n</pre>"],
	// Lists.
	["- a\n- b", "<ul><li>a</li><li>b</li></ul>"], ["1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"], ["3) a", "<ol start=3><li>a</li></ol>"], ["0. a", "<ol start=0><li>a</li></ol>"],
	["- a\n\n- b", "<ul><li><p>a</p></li><li><p>b</p></li></ul>"], ["- a\n  - b", "<ul><li>a<ul><li>b</li></ul></li></ul>"], ["- a\n\n  b", "<ul><li><p>a</p><p>b</p></li></ul>"],
	["- a\nb", "<ul><li>a\nb</li></ul>"], ["- a\n* b", "<ul><li>a</li></ul><ul><li>b</li></ul>"], ["-a", "<p>-a</p>"], ["- ", "<ul><li></li></ul>"], ["-\n  a", "<ul><li>a</li></ul>"],
	["-\n\n  a", "<ul><li></li></ul><p>a</p>"], ["a\n- b", "<p>a</p><ul><li>b</li></ul>"], ["a\n2. b", "<p>a\n2. b</p>"], ["a\n1. b", "<p>a</p><ol><li>b</li></ol>"],
	["1. a\n\n   b", "<ol><li><p>a</p><p>b</p></li></ol>"], ["10. a\n    b", "<ol start=10><li>a\nb</li></ol>"], ["- a\n\n      b", "<ul><li><p>a</p><pre>b\n</pre></li></ul>"],
	["1234567890. a", "<p>1234567890. a</p>"], ["- - a", "<ul><li><ul><li>a</li></ul></li></ul>"], ["1. - a", "<ol><li><ul><li>a</li></ul></li></ol>"],
	["- [ ] a\n- [x] b\n- [X] c", "<ul><li>[ ]a</li><li>[x]b</li><li>[x]c</li></ul>"], ["- [y] a", "<ul><li>[y] a</li></ul>"], ["- [x]a", "<ul><li>[x]a</li></ul>"],
	["- a\n  ```\n  b\n  ```", "<ul><li>a<pre>b\n</pre></li></ul>"], ["- a\n\n\n- b", "<ul><li><p>a</p></li><li><p>b</p></li></ul>"], ["- # a", "<ul><li><h1>a</h1></li></ul>"],
	["- a\n  - b\n\n  - c", "<ul><li>a<ul><li><p>b</p></li><li><p>c</p></li></ul></li></ul>"], ["- a\n\n  - b\n- c", "<ul><li><p>a</p><ul><li>b</li></ul></li><li><p>c</p></li></ul>"],
	["* a\n  > b\n  >\n* c", "<ul><li>a<blockquote><p>b</p></blockquote></li><li>c</li></ul>"], ["- a\n    - b", "<ul><li>a<ul><li>b</li></ul></li></ul>"],
	[" - a\n  - b\n   - c", "<ul><li>a</li><li>b</li><li>c</li></ul>"], ["- a\n\n    b", "<ul><li><p>a</p><p>b</p></li></ul>"], ["-\ta", "<ul><li>a</li></ul>"], ["- a\n\nb", "<ul><li>a</li></ul><p>b</p>"],
	["1. a\n1. b\n\n2. c", "<ol><li><p>a</p></li><li><p>b</p></li><li><p>c</p></li></ol>"], ["1. a\n2) b", "<ol><li>a</li></ol><ol start=2><li>b</li></ol>"],
	// Quotes.
	["> a", "<blockquote><p>a</p></blockquote>"], [">a\n>b", "<blockquote><p>a\nb</p></blockquote>"], ["> a\nb", "<blockquote><p>a\nb</p></blockquote>"],
	["> a\n\n> b", "<blockquote><p>a</p></blockquote><blockquote><p>b</p></blockquote>"], ["> a\n>\n> b", "<blockquote><p>a</p><p>b</p></blockquote>"], [">> a", "<blockquote><blockquote><p>a</p></blockquote></blockquote>"],
	["> - a\n> - b", "<blockquote><ul><li>a</li><li>b</li></ul></blockquote>"], ["> ```\n> a\n> ```", "<blockquote><pre>a\n</pre></blockquote>"], ["> ```\na", "<blockquote><pre></pre></blockquote><p>a</p>"],
	["- > a", "<ul><li><blockquote><p>a</p></blockquote></li></ul>"], [">", "<blockquote></blockquote>"], ["    > a", "<pre>&gt; a\n</pre>"], [">     a", "<blockquote><pre>a\n</pre></blockquote>"],
	// Links and pictures.
	["[a](http://b)", "<p><a href=\"http://b\">a</a></p>"], ["[a](<http://b c>)", "<p><a href=\"http://b c\">a</a></p>"], ["[a](http://b \"t\")", "<p><a href=\"http://b\" title=\"t\">a</a></p>"],
	["[a](http://b 't')", "<p><a href=\"http://b\" title=\"t\">a</a></p>"], ["[a](http://b (t))", "<p><a href=\"http://b\" title=\"t\">a</a></p>"], ["[a](http://b(c)d)", "<p><a href=\"http://b(c)d\">a</a></p>"],
	["[a](b c)", "<p>[a](b c)</p>"], ["[a]", "<p>[a]</p>"], ["[a]()", "<p><a href=\"\">a</a></p>"], ["[*a*](b)", "<p><a href=\"b\"><em>a</em></a></p>"], ["[a [b](c)](d)", "<p>[a <a href=\"c\">b</a>](d)</p>"],
	["*[a*](b)", "<p>*<a href=\"b\">a*</a></p>"], ["[a`](b)`", "<p>[a<code>](b)</code></p>"], ["\\[a](b)", "<p>[a](b)</p>"], ["[a\\]](b)", "<p><a href=\"b\">a]</a></p>"], ["[a](b\\)c)", "<p><a href=\"b)c\">a</a></p>"],
	["[a](\nb\n\"t\"\n)", "<p><a href=\"b\" title=\"t\">a</a></p>"], ["[a](b&amp;c)", "<p><a href=\"b&amp;c\">a</a></p>"], ["![a](b)", "<p><img \"b\">a</img></p>"], ["![*a*](b \"t\")", "<p><img \"b\"><em>a</em></img></p>"],
	["![[a](b)](c)", "<p><img \"c\"><a href=\"b\">a</a></img></p>"], ["[![a](b)](c)", "<p><a href=\"c\"><img \"b\">a</img></a></p>"], ["![a]", "<p>![a]</p>"], ["a!", "<p>a!</p>"],
	["<http://a.b>", "<p><a href=\"http://a.b\">http://a.b</a></p>"], ["<a@b.c>", "<p><a href=\"mailto:a@b.c\">a@b.c</a></p>"], ["<a b>", "<p>&lt;a b&gt;</p>"], ["<http://a b>", "<p>&lt;http://a b&gt;</p>"],
	["see http://a.b/c.", "<p>see <a href=\"http://a.b/c\">http://a.b/c</a>.</p>"], ["(https://a.b/c_(d))", "<p>(<a href=\"https://a.b/c_(d)\">https://a.b/c_(d)</a>)</p>"], ["xhttp://a", "<p>xhttp://a</p>"],
	["[http://a](http://b)", "<p><a href=\"http://b\">http://a</a></p>"], ["**http://a.b**", "<p><strong><a href=\"http://a.b\">http://a.b</a></strong></p>"],
	["[a][b]\n\n[b]: http://c", "<p><a href=\"http://c\">a</a></p>"], ["[b]\n\n[B]: <c> 't'", "<p><a href=\"c\" title=\"t\">b</a></p>"], ["[a][]\n\n[a]: b", "<p><a href=\"b\">a</a></p>"], ["[a]: b", ""],
	["[a]: b\nc", "<p>c</p>"], ["[a]: b\n[c]: d\n\n[c]", "<p><a href=\"d\">c</a></p>"], ["[a]: b c\n\n[a]", "<p>[a]: b c</p><p>[a]</p>"], ["[a]:\n  b\n\n[a]", "<p><a href=\"b\">a</a></p>"], ["[a]: b\n===\n\n[a]", "<p>===</p><p><a href=\"b\">a</a></p>"],
	["[a][c]\n\n[a]: b", "<p>[a][c]</p>"], ["![a]\n\n[a]: b", "<p><img \"b\">a</img></p>"], ["[a]: b\n[a]: c\n\n[a]", "<p><a href=\"b\">a</a></p>"],
	// Tables.
	["|a|b|\n|-|-|\n|1|2|", "<table><th>a<th>b<tr><td>1<td>2</table>"], ["a|b\n-|-\n1|2", "<table><th>a<th>b<tr><td>1<td>2</table>"], ["|a|\n|:-:|", "<table><th center>a</table>"],
	["|a|b|\n|-|-|\n|1|", "<table><th>a<th>b<tr><td>1</table>"], ["|a|b|\n|-|-|\n|1|2|3|", "<table><th>a<th>b<tr><td>1<td>2</table>"], ["|a|b|\n|-|", "<p>|a|b|\n|-|</p>"],
	["x\n|a|b|\n|-|-|", "<p>x</p><table><th>a<th>b</table>"], ["|a|b|\n|-|-|\n|1|2|\n\nc", "<table><th>a<th>b<tr><td>1<td>2</table><p>c</p>"], ["|a\\|b|\n|-|", "<table><th>a|b</table>"],
	["|*a*|\n|-|\n|`b`|", "<table><th><em>a</em><tr><td><code>b</code></table>"], ["|a|\n|-|\n> b", "<table><th>a</table><blockquote><p>b</p></blockquote>"], ["|a|b|\n|--:|:--|", "<table><th right>a<th left>b</table>"],
	["- |a|\n  |-|\n  |b|", "<ul><li><table><th>a<tr><td>b</table></li></ul>"],
	// Escapes, entities, HTML.
	["\\!\\\"\\#", "<p>!\"#</p>"], ["\\a", "<p>\\a</p>"], ["&amp;&copy;&#65;&#x42;", "<p>&amp;©AB</p>"], ["&unknown;", "<p>&amp;unknown;</p>"], ["&#0;&#xD800;", "<p>\ufffd\ufffd</p>"], ["&amp", "<p>&amp;amp</p>"],
	["&lt;b&gt;", "<p>&lt;b&gt;</p>"], ["&#42;a&#42;", "<p>*a*</p>"], ["<b>a</b>", "<p>&lt;b&gt;a&lt;/b&gt;</p>"], ["<!-- a -->", "<p>&lt;!-- a --&gt;</p>"], ["<div>\n*a*\n</div>", "<p>&lt;div&gt;\n<em>a</em>\n&lt;/div&gt;</p>"],
];

const N = 200_000;                    // characters, for what is to be read in proportion to its length
const bad = "window.bad=1";
const schemes = ["javascript:" + bad, "JaVaScRiPt:" + bad, " javascript:" + bad, "java\tscript:" + bad, "java\nscript:" + bad, "\u0001javascript:" + bad,
	"javascript&colon;" + bad, "javascript&#58;" + bad, "&#106;avascript:" + bad, "jav&#x0A;ascript:" + bad, "vbscript:" + bad, "data:text/html,<script>" + bad + "</script>",
	"data:image/svg+xml,<svg onload=" + bad + ">", "file:///etc/passwd", "blob:http://x/y", "about:blank", "//example.invalid/x", "/api/session/end", "../x", "#12", "?q",
	"http:example.invalid", "https:/example.invalid", "http://", "http://a b", "http://a\u0000b", "ftp://a", "view-source:http://a", "chrome://settings", "http\u200b://a",
	"http://\u202egpj.exe", "http://user:secret@example.invalid", "http://аррӏе.example", "mailto:a@b?body=<script>", "tel:1", "ws://a", "intent://a", "x:y", "javascript://%0a" + bad,
	"http://a/\"onmouseover=\"" + bad, "http://a/'><img src=x onerror=" + bad + ">", "http://" + many("a", 5000), "filesystem:http://a", "livescript:x", "mocha:x"];
const markup = [`<img src=x onerror="${bad}">`, `<script>${bad}</script>`, `<svg onload=${bad}>`, `<iframe srcdoc="<script>parent.bad=1</script>">`, `<a href="javascript:${bad}">x</a>`,
	`<style>*{display:none}</style>`, `<base href=//example.invalid>`, `<form action=//example.invalid><input name=token></form>`, `<link rel=stylesheet href=//example.invalid/x.css>`,
	`<meta http-equiv=refresh content="0;url=//example.invalid">`, `<object data=//example.invalid>`, `<embed src=//example.invalid>`, `<video src=//example.invalid autoplay>`, `<math><mtext><script>${bad}</script>`,
	`<template><img src=x onerror=${bad}></template>`, `<!--><img src=x onerror=${bad}>-->`, `<![CDATA[<script>${bad}</script>]]>`, `<?xml-stylesheet href="//example.invalid"?>`, `<details open ontoggle=${bad}>`,
	`<b onclick=${bad}>`, `<br onload=${bad}>`, `<BR/><br >`, `</div></main></body>`, `<textarea></textarea><script>${bad}</script>`, `&lt;script&gt;${bad}&lt;/script&gt;`, `<custom-element onfoo=${bad}>`];
const frames = [["link", (x) => `[x](${x})`], ["angle link", (x) => `[x](<${x}>)`], ["picture", (x) => `![x](${x})`], ["autolink", (x) => `<${x}>`], ["reference", (x) => `[x][y]\n\n[y]: <${x}>`]];
const places = [["a paragraph", (x) => x], ["a heading", (x) => "# " + x], ["a code span", (x) => "`" + x + "`"], ["a fence", (x) => "```\n" + x + "\n```"], ["an info string", (x) => "~~~ " + x + "\na\n~~~"],
	["a cell", (x) => `|${x}|\n|-|\n|${x}|`], ["an item", (x) => "- " + x], ["a quote", (x) => "> " + x], ["a link", (x) => `[${x}](http://a)`], ["a title", (x) => `[a](http://a '${x}')`], ["a picture's text", (x) => `![${x}](http://a)`]];

const deep = Array.from({ length: 3000 }, (_, i) => many("> ", Math.min(i, 40)) + "a").join("\n");
const steps = Array.from({ length: 400 }, (_, i) => many("  ", i) + "- a").join("\n");

export const hostile = [
	...schemes.flatMap((scheme, i) => frames.filter((_, j) => j === i % frames.length || j === 0).map(([name, frame]) => [`${name} to ${scheme.slice(0, 40)}`, frame(scheme)])),
	...markup.flatMap((each, i) => places.filter((_, j) => j === i % places.length || j === 0).map(([name, place]) => [`${each.slice(0, 24)} in ${name}`, place(each)])),
	...places.map(([name, place]) => ["signs that are not seen, in " + name, place("a\u202eb\u2066c\u200bd\u0000e\u001b[31mf\u{e0041}g\ud800h\udc00i\ufeffj\u00adk\u2028l")]),
	// Deep.
	["quotes 10,000 deep", many("> ", 10_000) + "a"], ["quotes deep, without spaces", many(">", 10_000) + "a"], ["items 10,000 deep", many("- ", 10_000) + "a"], ["numbers 5,000 deep", many("1. ", 5000) + "a"],
	["quotes and items in turn", many("> - ", 5000) + "a"], ["quotes that grow", deep], ["items that grow", steps], ["blank lines in items 10,000 deep", many("- ", 10_000) + "a" + many("\n", 10_000) + "b"],
	["lazy lines in quotes 10,000 deep", many("> ", 10_000) + "a" + many("\nb", 10_000)], ["emphasis 10,000 deep", many("*a **a ", 10_000)], ["closed emphasis 10,000 deep", many("*a **a ", 10_000) + many("b** b*", 10_000)],
	["pictures in pictures", many("![", 10_000) + "a" + many("](b)", 10_000)], ["links in links", many("[", 10_000) + "a" + many("](http://b)", 10_000)], ["brackets 10,000 deep, defined", many("[", 10_000) + "a" + many("]", 10_000) + "\n\n[a]: b"],
	// Long.
	["a line of a megabyte", many("a", 1 << 20)], ["words of a megabyte", many("word ", 200_000)], ["spaces of a megabyte", many(" ", 1 << 20) + "a"], ["spaces before a line feed", "a" + many(" ", 1 << 20) + "\nb"],
	["tabs", many("\t", N) + "a"], ["line feeds", many("\n", N)], ["carriage returns", many("\r", N)], ["nothing but NUL", many("\0", N)], ["lone surrogates", many("\ud800", N)], ["turned around lone surrogates", many("\udc00\ud800", N / 2)],
	["joiners", many("\u200d", N)], ["marks on a letter", "a" + many("\u0301", N)], ["a table of 100,000 rows", "|a|b|\n|-|-|\n" + many("|1|2|\n", 100_000)], ["a table of 100,000 columns", many("|a", 100_000) + "|\n" + many("|-", 100_000) + "|\n" + many("|1", 100_000) + "|"],
	["a table whose rows lack cells", many("|a", 100) + "|\n" + many("|-", 100) + "|\n" + many("|\n", 20_000)], ["a list of 50,000 items", many("- a\n", 50_000)], ["a list with blank lines", many("- a\n\n", 20_000)], ["20,000 headings", many("# a\n", 20_000)],
	["20,000 rules", many("***\n", 20_000)], ["20,000 fences", many("```\na\n```\n", 20_000)], ["an open fence", "```\n" + many("a\n", N / 2)], ["a fence that nearly ends", "````\n" + many("```\n", N / 4)], ["a heading of signs", "# a " + many("#", N) + "b"],
	["setext lines", many("a\n=\n", N / 4)], ["100,000 definitions", many("[a]: b\n", 50_000)], ["definitions alone", many("[a]: b\n\n", 20_000)], ["many labels", Array.from({ length: 20_000 }, (_, i) => `[l${i}]: http://a/${i}`).join("\n") + "\n\n" + many("[l7]", 20_000)],
	["a definition whose title is open", "[a]: b \"" + many("c\n", N / 2)], ["definitions whose titles are open", many("[a]: b \"c\n", N / 8)], ["a long label", "[" + many("a", N) + "]: b"],
	// What is read in proportion to the square of its length, if it is read badly.
	["[", many("[", N)], ["![", many("![", N / 2)], ["]", many("]", N)], ["[ and ]", many("[", N / 2) + many("]", N / 2)], ["[]", many("[]", N / 2)], ["[a](", many("[a](", N / 4)], ["[a](b", many("[a](b", N / 5)], ["[a](<b", many("[a](<b", N / 6)],
	["[a](b \"", many("[a](b \"", N / 7)], ["[a](b 'c (", many("[a](b 'c (", N / 10)], ["[a](((", many("[a](((", N / 6)], ["[](", many("[](", N / 3)], ["[a][", many("[a][", N / 4)], ["[a][b]", many("[a][b]", N / 6)], ["[ then [a](b)", many("[", N / 4) + many("[a](b)", N / 8)],
	["![ then [a](b)", many("![", N / 8) + many("[a](b)", N / 8)], ["*", "a" + many("*", N)], ["**a", many("**a ", N / 4)], ["*a", many("*a ", N / 3)], ["a*", many("a* ", N / 3)], ["a**b", many("a**b", N / 4)], ["*a_", many("*a_ ", N / 4)], ["a_*", many("a_* ", N / 4)],
	["*_~", many("*_~", N / 3)], ["~a", many("~a ", N / 3)], ["~~a", many("~~a ", N / 4)], ["*a* many times", many("*a* ", N / 4)], ["***a", many("***a ", N / 5) + many("a*** ", N / 5)], ["*a**a", many("*a**a", N / 5)], ["**x*y", many("**x*y ", N / 6)],
	["`", many("`", N)], ["` of all lengths", Array.from({ length: 600 }, (_, i) => many("`", i + 1) + "a").join(" ")], ["`a", many("`a ", N / 3)], ["a``", many("a`` ` ", N / 6)], ["<", many("<", N)], ["<a", many("<a", N / 2)], ["<a:", many("<a:", N / 3)], ["<http:", many("<http:", N / 6)],
	["<a@", many("<a@", N / 3)], ["<br", many("<br", N / 3)], ["&", many("&", N)], ["&#", many("&#", N / 2)], ["&amp", many("&amp", N / 4)], ["\\", many("\\", N)], ["\\[", many("\\[", N / 2)], ["http://", many("http://", N / 7)], ["xhttp://", many("xhttp://", N / 8)], ["(http://", many("(http://", N / 8)],
	["http://(((", "http://a" + many("(", N)], ["http://)))", "http://a" + many(")", N)], ["http://...", "http://a" + many(".", N)], ["<!--", many("<!--", N / 4)], ["<?", many("<?", N / 2)], ["<![CDATA[", many("<![CDATA[", N / 9)], ["| in one line", many("|", N)], ["|- in lines", many("|-\n", N / 3)],
	["a|b in lines", many("a|b\n", N / 4)], ["- - - -", many("- ", N / 2) + "a"], ["* * * *", many("* ", N / 2) + "a"], ["1) 1)", many("1) ", N / 3) + "a"], ["+", many("+\n", N / 2)], [">", many(">\n", N / 2)], ["> and blank", many("> a\n\n", N / 5)], ["!", many("!", N)], ["- [x]", many("- [x] a\n", N / 8)],
	["[x]: with spaces", "[x]:" + many(" ", N) + "b c"], ["(", many("(", N)], ["[a](b (c", many("[a](b (c", N / 8)], ["spaces in a link", many("[a](  b  ", N / 9)], ["  \\n", many("a  \n", N / 4)], ["nested brackets of every depth", Array.from({ length: 400 }, (_, i) => many("[", i) + many("]", i)).join("")],
	// Names that mean something elsewhere.
	["__proto__", "[__proto__]\n\n[constructor]: http://a\n\n[toString] __proto__ &__proto__; &constructor;"], ["a label of an object", "[a]: http://b\n\n[hasOwnProperty] [a]"],
];
