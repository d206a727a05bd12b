# The rooms of the code. A room is a folder of lib/ or cmd/ with one subject; no two have one name, and none
# has more than 24 .c files. The Makefile takes from here what is compiled into which library and program,
# tests/support/rooms.py (make lint) which room is in which tier, and what it may use.

# ---- tiers ----
# The core is what runs and keeps workflows: it can be read without the rest. Agents are built on the core:
# steps whose work asks models. Add-ons are built on both from outside.

CORE = base system io json schema transcript proc isolate storage workspace model history start decide view \
	limits rerun shared clock ctl exec run run_resume step step_call tail replay \
	replay_run verify
AGENTS = providers formats definitions mcp_client turn net api step_kinds provider tool sandbox \
	mcp_servers
ADD_ONS = httpd ingest projection awf diff eval fetch import mask mcp mirror models record serve serve_runs serve_start setup ship stats worker

# A room of the core needs the core, one of agents those too. ROOM:OTHER are the exceptions:
#   step:step_kinds       the table of the kinds of work, of which agents are some
#   tail:projection, verify:projection  lines of other vocabularies are shown where lines are shown
ACROSS = step:step_kinds tail:projection verify:projection

# Of the core and of agents, add-ons include these headers alone; of some rooms all.
PUBLIC_ROOMS = base system io json
PUBLIC = \
	transcript/blob transcript/call transcript/event transcript/event_keys transcript/filter \
	transcript/form transcript/layout transcript/line transcript/reader transcript/redaction \
	transcript/sync_mode transcript/transcript transcript/verify_lines transcript/vocabulary \
	proc/api_keys proc/descendants proc/environment proc/interrupts proc/libexec proc/message \
	proc/last_words proc/model_token proc/passing proc/peer proc/process proc/subprocess proc/wait \
	isolate/isolate isolate/loopback isolate/sandbox \
	storage/call_marks storage/origin storage/queue storage/redactor storage/resumes storage/run storage/run_lock storage/storage \
	storage/traceparent \
	workspace/workflow_file \
	model/cost model/event_index model/excerpt model/follow model/listing model/model \
	model/price model/results model/summary model/told_state model/tool_approval model/waiting model/watch \
	schema/schema \
	decide/cancel decide/deciding decide/due decide/open_question decide/telling \
	view/live view/screen view/terminal_question \
	rerun/agentloom \
	limits/day \
	providers/endpoint providers/provider_find providers/throttle \
	formats/definition formats/model_alias \
	definitions/agent definitions/skills definitions/tool definitions/trust \
	turn/team \
	net/handle net/http net/sse \
	api/failure api/stream

# ---- what each room needs ----
# Of which other rooms it includes headers: all that it may, and no more. There is no way back to it.

NEEDS_base =
NEEDS_system =
NEEDS_io = base system
NEEDS_json = base io
NEEDS_schema = base json
NEEDS_transcript = base system io json
NEEDS_proc = base system io json
NEEDS_isolate = base system io proc
NEEDS_storage = base system io json transcript proc
NEEDS_workspace = base system io json transcript proc storage
NEEDS_model = base io json transcript storage
NEEDS_history = base io json transcript proc storage model
NEEDS_start = base system io transcript proc storage model
NEEDS_decide = base system io json schema transcript proc storage workspace model
NEEDS_view = base io json transcript proc storage model
NEEDS_limits = base io json transcript proc model history
NEEDS_shared = base io json transcript storage model

NEEDS_providers = base io json transcript proc storage model history start limits
NEEDS_formats = base io json transcript storage model providers
NEEDS_definitions = base io json schema transcript proc isolate storage workspace history view \
	limits providers formats
NEEDS_mcp_client = base io json proc isolate storage workspace start definitions
NEEDS_turn = base io json transcript proc isolate storage workspace model history view limits \
	providers formats definitions mcp_client
NEEDS_net = base io
NEEDS_httpd = base io json
NEEDS_api = base json transcript proc model providers net

NEEDS_rerun = base io json transcript storage
NEEDS_ingest = base io json transcript proc storage model
NEEDS_projection = base json transcript storage model rerun

NEEDS_clock =
NEEDS_ctl = base io proc storage model decide
NEEDS_exec = base system io json proc isolate storage
NEEDS_run = base system io json transcript proc storage model history start decide view limits run_resume
NEEDS_run_resume = base system io json transcript proc storage model history start decide limits
NEEDS_step = base io json transcript proc storage model history start view step_kinds step_call
NEEDS_step_call = base system io json transcript proc isolate storage workspace model history decide view \
	limits
NEEDS_step_kinds = base io json transcript proc isolate storage workspace model history decide \
	view limits providers formats definitions mcp_client turn step_call
NEEDS_tail = base io json transcript proc storage model view projection
NEEDS_replay = base io json transcript proc storage model view rerun replay_run
NEEDS_replay_run = base io json transcript proc isolate storage model history start rerun
NEEDS_verify = base system io json schema transcript proc storage rerun projection

NEEDS_provider = base system io json transcript proc storage workspace model start rerun providers net \
	api
NEEDS_tool = base io json schema proc isolate workspace definitions
NEEDS_sandbox = base system io json proc isolate storage workspace
NEEDS_mcp_servers = base system io json proc start mcp_client net

NEEDS_awf = base io proc
NEEDS_diff = base io json transcript proc storage model
NEEDS_eval = base io json schema transcript proc storage model
NEEDS_fetch = base io json transcript storage net ingest
NEEDS_import = base io json transcript proc storage ingest
NEEDS_mask = base io json transcript
NEEDS_mcp = base system io json schema transcript proc storage workspace model decide
NEEDS_mirror = base io json transcript proc storage ingest ship
NEEDS_models = base system io json transcript proc isolate providers net httpd api
NEEDS_record = base io json transcript proc storage model ingest
NEEDS_serve = base io json transcript proc storage workspace model decide httpd ingest projection \
	serve_runs serve_start
NEEDS_serve_runs = base system io json transcript proc storage model view httpd ingest projection stats
NEEDS_serve_start = base io json transcript proc storage workspace model
NEEDS_setup = base io json transcript proc isolate storage model decide view limits providers formats definitions \
	turn projection
NEEDS_ship = base system io json transcript proc storage model net ingest projection
NEEDS_stats = base io json transcript storage model
NEEDS_worker = base io json proc storage workspace model decide

# ---- programs ----
# cmd/ROOM/main.c has the main() of awf-ROOM, or of PROGRAM_ROOM, and cmd/ROOM/NAME_main.c that of
# awf-ROOM-NAME, or of PREFIX_ROOM and NAME. What else is in a room is in each of its programs, as far as
# that needs it.

# Whose main.c is for users, in bin; all other programs are in libexec.
FOR_USERS = awf ctl diff eval exec import mcp record replay run serve ship step tail verify worker
PROGRAM_awf = awf
PROGRAM_fetch = awf-fetch-run
PROGRAM_models = awf-models-proxy
PREFIX_mcp_servers = awf-mcp-
PREFIX_setup = awf-

# What is started for each run, step and tool: its programs are static where that can be.
STARTED_ROOMS = exec run step tool sandbox

# No program of its own: it is put into programs, and links nothing.
APART = clock

# The rooms of which the library is that only programs with HTTP link: libcurl is theirs.
NET_ROOMS = net api

# What is compiled only where there is a library that a machine may lack, as pkg-config calls that; no
# library of ours has it.
WITH_sqlite3 = cmd/ship/sqlite_main.c cmd/ship/sqlite.c cmd/mirror/sqlite_main.c cmd/import/opencode_main.c
WITH_libpq = cmd/ship/postgresql_main.c cmd/ship/postgresql.c cmd/mirror/postgresql_main.c
