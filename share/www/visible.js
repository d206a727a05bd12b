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
