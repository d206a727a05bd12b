/* The table is short and rarely used: names are compared one by one. */
#include "proc/project_files.h"

#include <stddef.h>
#include <string.h>

#define RUNS PROJECT_FILE_RUNS
#define TEXT PROJECT_FILE_TEXT

const struct project_file project_files[] = {
	/* Settings have hooks, env (ANTHROPIC_BASE_URL), apiKeyHelper, statusLine, plugins; agents,
	 * skills and commands have hooks of their own, and commands that run as they are read.
	 * It is a program of bun. */
	{ "claude", ".claude", RUNS },
	{ "claude", ".mcp.json", RUNS },
	{ "claude", ".claude-plugin", RUNS },
	{ "claude", ".worktreeinclude", RUNS },
	{ "claude", "CLAUDE.md", TEXT },
	{ "claude", "CLAUDE.local.md", TEXT },
	{ "claude", "AGENTS.md", TEXT },

	/* config.toml has MCP servers, notify, hooks and model providers with their URLs; rules say
	 * which commands need no permission. */
	{ "codex", ".codex", RUNS },
	{ "codex", ".agents", RUNS },
	{ "codex", ".codex-plugin", RUNS },
	{ "codex", "AGENTS.md", TEXT },
	{ "codex", "AGENTS.override.md", TEXT },

	/* settings.json has MCP servers, hooks, commands that find tools; .env files are read into
	 * its environment (GOOGLE_GEMINI_BASE_URL, NODE_OPTIONS). */
	{ "gemini", ".gemini", RUNS },
	{ "gemini", ".agents", RUNS },
	{ "gemini", ".env", RUNS },
	{ "gemini", "gemini-extension.json", RUNS },
	{ "gemini", "GEMINI.md", TEXT },
	{ "gemini", ".geminiignore", TEXT },

	/* Hooks, agents with MCP servers, extensions, plugins and LSP servers. */
	{ "copilot", ".github/agents", RUNS },
	{ "copilot", ".github/copilot", RUNS },
	{ "copilot", ".github/extensions", RUNS },
	{ "copilot", ".github/hooks", RUNS },
	{ "copilot", ".github/lsp.json", RUNS },
	{ "copilot", ".github/mcp.json", RUNS },
	{ "copilot", ".github/plugin", RUNS },
	{ "copilot", ".github/skills", RUNS },
	{ "copilot", ".copilot", RUNS },
	{ "copilot", ".vscode/mcp.json", RUNS },
	{ "copilot", ".mcp.json", RUNS },
	{ "copilot", ".agents", RUNS },
	{ "copilot", ".claude", RUNS },
	{ "copilot", ".github/copilot-instructions.md", TEXT },
	{ "copilot", ".github/instructions", TEXT },
	{ "copilot", ".github/prompts", TEXT },
	{ "copilot", "AGENTS.md", TEXT },
	{ "copilot", "CLAUDE.md", TEXT },
	{ "copilot", "GEMINI.md", TEXT },

	/* Providers with their URLs and packages, MCP servers, formatters, LSP servers; plugins and
	 * tools are programs that it loads. It is a program of bun, and installs by npm. */
	{ "opencode", "opencode.json", RUNS },
	{ "opencode", "opencode.jsonc", RUNS },
	{ "opencode", ".opencode", RUNS },
	{ "opencode", ".agents", RUNS },
	{ "opencode", ".claude", RUNS },
	{ "opencode", "AGENTS.md", TEXT },
	{ "opencode", "CLAUDE.md", TEXT },
	{ "opencode", "CONTEXT.md", TEXT },

	/* Runtimes: what is loaded before the program's first line (preload), its environment, and
	 * from where packages are fetched. */
	{ "bun", "bunfig.toml", RUNS },
	{ "bun", ".bunfig.toml", RUNS },
	{ "bun", ".env", RUNS },
	{ "bun", ".env.local", RUNS },
	{ "bun", ".env.development", RUNS },
	{ "bun", ".env.development.local", RUNS },
	{ "bun", ".env.production", RUNS },
	{ "bun", ".env.production.local", RUNS },
	{ "bun", ".env.test", RUNS },
	{ "bun", ".env.test.local", RUNS },
	{ "npm", ".npmrc", RUNS },
	{ "npm", ".yarnrc.yml", RUNS },
	{ "npm", ".pnpmfile.cjs", RUNS },

	/* Managers of versions, whose shims stand before node and what npm installs: which program a
	 * name starts, its environment, and hooks. */
	{ "nodenv, nvm, fnm", ".node-version", RUNS },
	{ "nodenv, nvm, fnm", ".nvmrc", RUNS },
	{ "asdf, mise", ".tool-versions", RUNS },
	{ "mise", ".mise.toml", RUNS },
	{ "mise", ".mise.local.toml", RUNS },
	{ "mise", "mise.toml", RUNS },
	{ "mise", "mise.local.toml", RUNS },
	{ "mise", ".mise/config.toml", RUNS },
	{ "mise", "mise/config.toml", RUNS },
	{ "mise", ".config/mise.toml", RUNS },
	{ "mise", ".config/mise", RUNS },
	{ "mise", ".rtx.toml", RUNS },
	{ "direnv", ".envrc", RUNS },

	{ NULL, NULL, RUNS }
};

bool
project_files_has(const char *path)
{
	for (const struct project_file *file = project_files; file->program != NULL; file++) {
		size_t len = strlen(file->name);

		for (const char *at = path; file->use == RUNS && at != NULL; at = strchr(at, '/')) {
			at += *at == '/';
			if (strncmp(at, file->name, len) == 0 && (at[len] == '/' || at[len] == '\0'))
				return true;
		}
	}
	return false;
}
