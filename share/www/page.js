// Begins: who is it, and which view is it. /runs/RUN is a run, /compare/A/B what differs between two,
// everything else the list of runs.
import { logIn, logOut, rights } from "/www/api.js";
import { showComparison } from "/www/compare.js";
import { byId, h, say } from "/www/dom.js";
import { nextTheme, showKeys, showTheme } from "/www/keys.js";
import { showRun } from "/www/run.js";
import { showRuns } from "/www/runs.js";

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
	const run = location.pathname.match(/^\/runs\/([^/]+)$/);
	const two = location.pathname.match(/^\/compare\/([^/]+)\/([^/]+)$/);
	if (run)
		await showRun(main, decodeURIComponent(run[1]), may);
	else if (two)
		await showComparison(main, decodeURIComponent(two[1]), decodeURIComponent(two[2]));
	else
		await showRuns(main);
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
