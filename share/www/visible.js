// What a reader would not see of a text: controls, what turns text around, what is invisible. It is
// shown as on a terminal (awf-tail): \x1b, \u202e, \U000e0041. Invisible characters that make of the
// one before them what is seen stay as they are: in emoji, ideographs with a chosen form, words of
// Arabic and Indic scripts.
const emoji = "\\p{Extended_Pictographic}(?:\\p{Emoji_Modifier}|[\\ufe0e\\ufe0f])?";
const kept = [
	"[0-9#*]\\ufe0f\\u20e3",
	"\\u{1f3f4}\\u{e0067}\\u{e0062}(?:\\u{e0065}\\u{e006e}\\u{e0067}|\\u{e0073}\\u{e0063}\\u{e0074}|\\u{e0077}\\u{e006c}\\u{e0073})\\u{e007f}",
	`${emoji}(?:\\u200d${emoji})*`,
	"\\p{Unified_Ideograph}[\\ufe00-\\ufe02\\u{e0100}-\\u{e01ef}]",
	"\\p{Script=Mongolian}[\\u180b-\\u180d\\u180f]",
	"[\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0bcd\\u0c4d\\u0ccd\\u0d4d\\u0dca\\u1039\\u17d2][\\u200c\\u200d]",
	"\\p{Script=Arabic}\\p{Mn}*\\u200c(?=\\p{Mn}*\\p{Script=Arabic})",
	"[\\u0600-\\u0605\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u{110bd}\\u{110cd}]", // seen before digits
	"\\r(?:\\n|$)", "\\n", "\\t",
].join("|");
const hidden = "\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\p{Noncharacter_Code_Point}";
const PIECE = new RegExp(`${kept}|([${hidden}])`, "gu");
const PLAIN = /^[\n\t -~]*$/;

const escape = (character) => {
	const code = character.codePointAt(0), hex = code.toString(16);
	return code === 13 ? "\\r" : code < 0x80 ? "\\x" + hex.padStart(2, "0") :
	    code < 0x10000 ? "\\u" + hex.padStart(4, "0") : "\\U" + hex.padStart(8, "0");
};
const escapeJson = (character) => [...Array(character.length).keys()]
	.map((i) => "\\u" + character.charCodeAt(i).toString(16).padStart(4, "0")).join("");

export const visible = (text) => PLAIN.test(text) ? text :
    text.replace(PIECE, (piece, found) => found === undefined ? piece : escape(found));

// The same of JSON, which means the same afterwards.
export const visibleJson = (text) => PLAIN.test(text) ? text :
    text.replace(PIECE, (piece, found) => found === undefined ? piece : escapeJson(found));

// ---- letters that look like others ----

// The tables of lib/base/lookalikes.c: letters with the shape of an ASCII one; scripts among whose letters an ASCII one
// may pass for theirs; signs.
const SHAPES = [
	[0x131, 0x131], [0x17f, 0x17f], [0x251, 0x251], [0x261, 0x261], [0x37f, 0x37f], [0x391, 0x392],
	[0x395, 0x397], [0x399, 0x39a], [0x39c, 0x39d], [0x39f, 0x39f], [0x3a1, 0x3a1], [0x3a4, 0x3a5],
	[0x3a7, 0x3a7], [0x3b1, 0x3b1], [0x3b9, 0x3ba], [0x3bd, 0x3bd], [0x3bf, 0x3bf], [0x3c1, 0x3c1],
	[0x3c3, 0x3c3], [0x3c5, 0x3c5], [0x3c9, 0x3c9], [0x3f2, 0x3f3], [0x3f9, 0x3f9], [0x405, 0x406],
	[0x408, 0x408], [0x410, 0x410], [0x412, 0x412], [0x415, 0x415], [0x417, 0x417], [0x41a, 0x41a],
	[0x41c, 0x41e], [0x420, 0x423], [0x425, 0x425], [0x430, 0x430], [0x433, 0x433], [0x435, 0x435],
	[0x43e, 0x43e], [0x440, 0x441], [0x443, 0x443], [0x445, 0x445], [0x455, 0x456], [0x458, 0x458],
	[0x461, 0x461], [0x474, 0x475], [0x4ae, 0x4af], [0x4ba, 0x4bb], [0x4c0, 0x4c0], [0x4cf, 0x4cf],
	[0x501, 0x501], [0x50c, 0x50c], [0x51a, 0x51d], [0x555, 0x555], [0x561, 0x561], [0x566, 0x566],
	[0x570, 0x570], [0x578, 0x578], [0x57c, 0x57d], [0x581, 0x581], [0x585, 0x585], [0x13a0, 0x13f5],
	[0xa4d0, 0xa4f7], [0x1d00, 0x1d2b], [0x2100, 0x214f], [0x2160, 0x2188], [0x24b6, 0x24e9], [0xff10, 0xff19],
	[0xff21, 0xff3a], [0xff41, 0xff5a], [0x1d400, 0x1d7ff],
];
const SCRIPTS = [
	[0x250, 0x2af], [0x370, 0x58f], [0x13a0, 0x13ff], [0x1c80, 0x1c8f], [0x1d00, 0x1dbf], [0x1f00, 0x1fff],
	[0x2c80, 0x2cff], [0x2de0, 0x2dff], [0xa4d0, 0xa4ff], [0xa640, 0xa69f], [0xab30, 0xabbf],
	[0x10400, 0x104ff],
];
const SIGNS = [
	[0xb4, 0xb4], [0xb8, 0xb8], [0x1c0, 0x1c3], [0x2b0, 0x2ff], [0x37e, 0x37e], [0x387, 0x387], [0x55a, 0x55d],
	[0x589, 0x58a], [0x5be, 0x5be], [0x5c0, 0x5c0], [0x5c3, 0x5c3], [0x66a, 0x66d], [0x6d4, 0x6d4],
	[0x701, 0x704], [0x2010, 0x201f], [0x2024, 0x2024], [0x2032, 0x2037], [0x2039, 0x203a], [0x2043, 0x2044],
	[0x204e, 0x204f], [0x2052, 0x2053], [0x2212, 0x2212], [0x2215, 0x2217], [0x2223, 0x2223], [0x2236, 0x2236],
	[0x223c, 0x223c], [0x2571, 0x2573], [0x2768, 0x2775], [0x27cb, 0x27cd], [0x29f5, 0x29f9], [0x2e3a, 0x2e3b],
	[0x3002, 0x3003], [0x3008, 0x3009], [0x3014, 0x3015], [0xa788, 0xa78a], [0xfe50, 0xfe6b], [0xff01, 0xff0f],
	[0xff1a, 0xff20], [0xff3b, 0xff40], [0xff5b, 0xff65],
];
const isIn = (code, ranges) => ranges.some(([first, last]) => code >= first && code <= last);
const isAsciiLetter = (code) => (code | 32) >= 97 && (code | 32) <= 122 && code < 128;
const isOfRun = (code) => code < 0x80 ? isAsciiLetter(code) || (code >= 48 && code <= 57) :
    code > 0xbf && (code < 0x2000 || code > 0x206f) && code !== 0x1680 && code !== 0x3000 && !isIn(code, SIGNS);

// A word with the codes of such letters, if it has any that are to be told of (as word_append() there).
function marked(word) {
	const characters = [...word], codes = characters.map((character) => character.codePointAt(0));
	let out = "", isMixed = false, isLike = false;
	for (let i = 0, end; i < codes.length; i = end) {
		for (end = i; end < codes.length && isOfRun(codes[end]);)
			end++;
		const run = codes.slice(i, end), mixed = run.some(isAsciiLetter);
		const like = run.every((code) => code < 0x80 || isIn(code, SHAPES));
		const passes = (code) => code >= 0x80 && (isIn(code, SHAPES) ? mixed || like : mixed && isIn(code, SCRIPTS));
		out += characters.slice(i, end).map((character) => passes(character.codePointAt(0)) ? escape(character) : visible(character)).join("");
		isMixed ||= mixed && run.some(passes);
		isLike ||= run.length > 1 && run.some(passes);
		if (end === i)
			out += visible(characters[end++]);
	}
	return isMixed || (isLike && codes.some(isAsciiLetter)) ? out : null;
}

// The words of a text with letters that pass for ASCII ones, as the terminal lists them below a question:
// "g\u0456thub.com, ..."; "" if there are none.
export function lookalikes(text) {
	const words = PLAIN.test(text ?? "") ? [] : text.split(/[ \t\r\n"'`,;()<>[\]{}|]+/)
		.filter((word) => /[^\0-\x7f]/.test(word)).map(marked).filter((word) => word !== null);
	return words.slice(0, 8).join(", ") + (words.length > 8 ? " and more" : "");
}
