// Begins: who is it, and which view is it. /runs/RUN is a run, /compare/A/B what differs between two,
// /inbox, /overview and /search are what they are called, everything else the list of runs.
import { get, logIn, logOut, rights } from "/www/api.js";
import { showComparison } from "/www/compare.js";
import { byId, h, say } from "/www/dom.js";
import { showInbox } from "/www/inbox.js";
import { nextTheme, showKeys, showTheme } from "/www/keys.js";
import { showOverview } from "/www/overview.js";
import { showRun } from "/www/run.js";
import { showRuns } from "/www/runs.js";
import { showSearch } from "/www/find.js";

const main = byId("main");

function showLogin(said) {
	const field = h("input", { id: "token", type: "password", autocomplete: "off", required: true });
	const error = h("p", { role: "alert" }, said);
	document.title = "Log in – AWF";
	main.replaceChildren(h("form", {
		class: "login",
		onsubmit: async (event) => {
			event.preventDefault();
			try {
				await logIn({ token: field.value.trim() });
				await begin();
			} catch (refused) {
				say(error, refused.message);
			}
		},
	},
	    h("h1", null, "Log in"),
	    h("p", null, "The link that awf-serve prints when it starts logs in one browser, once. If it was used, ",
	        "enter a token here (awf-serve --new-token decide prints one), or restart awf-serve for a new link."),
	    h("label", { htmlFor: "token" }, "Token"), field,
	    h("button", { class: "main" }, "Log in"), error));
	field.focus();
}

function showLogout() {
	byId("top").append(h("button", {
		type: "button",
		onclick: async () => {
			await logOut();
			location.assign("/");
		},
	}, "Log out"));
}

async function begin() {
	const { may, refused } = await rights();
	if (may === null) {
		showLogin(refused === null ? "" : refused.status === 401 ?
			"This link was used already, or it is of an awf-serve that has ended." : refused.message);
		return;
	}
	showLogout();
	showViews();
	const run = location.pathname.match(/^\/runs\/([^/]+)$/);
	const two = location.pathname.match(/^\/compare\/([^/]+)\/([^/]+)$/);
	if (run)
		await showRun(main, decodeURIComponent(run[1]), may);
	else if (two)
		await showComparison(main, decodeURIComponent(two[1]), decodeURIComponent(two[2]));
	else if (location.pathname === "/inbox")
		await showInbox(main, may);
	else if (location.pathname === "/overview")
		await showOverview(main);
	else if (location.pathname === "/search")
		await showSearch(main);
	else
		await showRuns(main);
}

/* ---- the views, and how many wait ---- */

const views = [["/", "Runs"], ["/inbox", "Inbox"], ["/overview", "Overview"], ["/search", "Search"]];
const WAITING_MS = 10_000;

function showViews() {
	const links = views.map(([path, text]) => h("a", { href: path, "aria-current": path === location.pathname ? "page" : undefined }, text));
	byId("views").replaceChildren(...links);
	const count = async () => {
		if (document.hidden)
			return;
		const { total } = await get("/api/waits?limit=0").catch(() => ({ total: null }));
		if (total !== null)
			say(links[1], total > 0 ? `Inbox ${total}` : "Inbox");
	};
	count();
	setInterval(count, WAITING_MS);
	document.addEventListener("visibilitychange", count);
}

// The printed link may be opened in a tab that is here already: the address is the same but for its code.
window.addEventListener("hashchange", () => {
	if (location.hash.startsWith("#code="))
		location.reload();
});
showTheme();
byId("theme").addEventListener("click", nextTheme);
byId("help").addEventListener("click", showKeys);
window.addEventListener("unhandledrejection", ({ reason }) => {
	if (reason?.status === 401)
		location.reload();
});
try {
	await begin();
} catch (error) {
	main.replaceChildren(h("p", { role: "alert", class: "problem" }, error.message));
}
