// JSON as it was written. JavaScript's numbers have 53 bits: what does not go into them, as the id
// of a message of 20 digits, is kept as its digits, and is written out by JSON.stringify() as it
// came. Such a value is no number to reckon with.
const digits = (source) => source.replace(/[eE].*$/, "").replace(/^-?[0.]*|\./g, "").length;

const isOther = (value, source) => String(value) !== source;
const isLost = (value, source) => isOther(value, source) && (digits(source) > 15 || !Number.isFinite(value));

const keeping = (which) => (_, value, context) =>
	typeof value === "number" && context?.source !== undefined && which(value, context.source) ?
		JSON.rawJSON(context.source) : value;

// Most texts have no such number, and are read at full speed.
export const parse = (text) => /[\d.]{16}|\d[eE][+-]?\d{3}/.test(text) && JSON.rawJSON ?
	JSON.parse(text, keeping(isLost)) : JSON.parse(text);

// Every number as it stands (1.0, 1e3), for what is given back.
export const parseExactly = (text) => JSON.parse(text, JSON.rawJSON && keeping(isOther));
