// The runs, as a list. The link that awf-serve prints has a code behind the #, which is exchanged
// for a token that this tab keeps.
const said = document.getElementById("said");

async function logIn() {
	const code = new URLSearchParams(location.hash.slice(1)).get("code");
	if (!code)
		return;
	history.replaceState(null, "", location.pathname);
	const answer = await fetch("/api/session", {
		method: "POST", headers: { "Content-Type": "application/json" },
		body: JSON.stringify({ code }),
	});
	if (answer.ok)
		sessionStorage.setItem("token", (await answer.json()).token);
}

async function list() {
	const answer = await fetch("/api/runs", {
		headers: { Authorization: "Bearer " + sessionStorage.getItem("token") },
	});
	if (!answer.ok) {
		said.textContent = (await answer.json()).error.message;
		return;
	}
	for (const run of (await answer.json()).runs) {
		const row = document.getElementById("runs").insertRow();
		for (const text of [run.run_id.slice(0, 8), run.name, run.status, run.started])
			row.insertCell().textContent = text;
	}
}

await logIn();
await list();
