// Requests of the server, and who asks. The token is kept by the tab (sessionStorage); the link
// that awf-serve prints has a code behind the #, which is exchanged for one. A tab that has none
// asks the other tabs of this page.
import { parse } from "/www/json.js";

const KEY = "token";
const ANSWER_MS = 150;
const tabs = new BroadcastChannel("awf-token");

tabs.onmessage = ({ data }) => {
	if (data === "token?" && token())
		tabs.postMessage({ token: token() });
};

export const token = () => sessionStorage.getItem(KEY);

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
	if (token())
		headers.set("Authorization", "Bearer " + token());
	const answer = await fetch(path, { cache: "no-store", credentials: "omit", ...options, headers });
	if (!answer.ok)
		throw await refusal(answer);
	return answer;
}

export const get = async (path, read = parse) => read(await (await request(path)).text());

export async function post(path, object) {
	const answer = await request(path, {
		method: "POST", headers: { "Content-Type": "application/json" },
		body: JSON.stringify(object),
	});
	return answer.status === 204 ? null : answer.json();
}

export const runPath = (run) => "/api/runs/" + encodeURIComponent(run);

// With the code of the printed link, or a token. Throws Refused.
export async function logIn(given) {
	sessionStorage.removeItem(KEY);
	sessionStorage.setItem(KEY, (await post("/api/session", given)).token);
}

export async function logOut() {
	await post("/api/session/end", {}).catch(() => null);
	sessionStorage.removeItem(KEY);
}

function tokenOfOtherTab() {
	return new Promise((resolve) => {
		const timer = setTimeout(resolve, ANSWER_MS, null);
		tabs.addEventListener("message", ({ data }) => {
			if (data?.token) {
				clearTimeout(timer);
				resolve(data.token);
			}
		});
		tabs.postMessage("token?");
	});
}

// What this tab may ("read", "decide"), or null: nobody is logged in.
export async function rights() {
	const code = new URLSearchParams(location.hash.slice(1)).get("code");
	if (code) {
		history.replaceState(null, "", location.pathname);
		await logIn({ code }).catch(() => null);
	}
	if (!token()) {
		const other = await tokenOfOtherTab();
		if (other)
			sessionStorage.setItem(KEY, other);
	}
	if (!token())
		return null;
	try {
		return (await get("/api/session")).may;
	} catch (error) {
		if (error.status !== 401)
			throw error;
		sessionStorage.removeItem(KEY);
		return null;
	}
}
