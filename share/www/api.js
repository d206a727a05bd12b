// Requests of the server, and who asks. The browser keeps the token, for all its tabs, until the
// session ends; the link that awf-serve prints has a code behind the #, which is exchanged for one,
// once.
import { parse } from "/www/json.js";

const KEY = "token";

export const token = () => localStorage.getItem(KEY);

export class Refused extends Error {
	constructor(status, error) {
		super(error?.message ?? "the server answered " + status);
		this.status = status;
		this.code = error?.code;
	}
}

async function refusal(answer) {
	const body = await answer.json().catch(() => null);
	return new Refused(answer.status, body?.error);
}

export async function request(path, options = {}) {
	const headers = new Headers(options.headers);
	if (token() && !options.anonymous)
		headers.set("Authorization", "Bearer " + token());
	const answer = await fetch(path, { cache: "no-store", credentials: "omit", ...options, headers });
	if (!answer.ok)
		throw await refusal(answer);
	return answer;
}

export const get = async (path, read = parse) => read(await (await request(path)).text());

export async function post(path, object, options = {}) {
	const answer = await request(path, {
		...options, method: "POST", headers: { "Content-Type": "application/json" },
		body: JSON.stringify(object),
	});
	return answer.status === 204 ? null : answer.json();
}

export const runPath = (run) => "/api/runs/" + encodeURIComponent(run);

// With the code of the printed link, or a token; what was there before stays if it is refused.
// Throws Refused.
export async function logIn(given) {
	localStorage.setItem(KEY, (await post("/api/session", given, { anonymous: true })).token);
}

export async function logOut() {
	await post("/api/session/end", {}).catch(() => null);
	localStorage.removeItem(KEY);
}

// What this browser may ("read", "decide"); null: nobody is logged in, and refused says why not, if the
// link was opened for it.
export async function rights() {
	const code = new URLSearchParams(location.hash.slice(1)).get("code");
	let refused = null;
	if (code) {
		history.replaceState(null, "", location.pathname);
		await logIn({ code }).catch((error) => { refused = error; });
	}
	if (!token())
		return { may: null, refused };
	try {
		return { may: (await get("/api/session")).may, refused: null };
	} catch (error) {
		if (error.status !== 401)
			throw error;
		localStorage.removeItem(KEY);
		return { may: null, refused };
	}
}
