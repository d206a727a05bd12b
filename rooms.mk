# The rooms of the code. A room is a folder of lib/ or cmd/ with one subject; no two have one name. The
# Makefile takes from here what is compiled into which library and program, tests/support/rooms.py
# (make lint) what may use what.

# ---- what each room needs ----
# Of which other rooms it includes headers: all that it may, and no more. There is no way back to it.

NEEDS_base =
NEEDS_json = base
NEEDS_schema = base json
NEEDS_transcript = base json
NEEDS_proc = base json
NEEDS_isolate = base proc
NEEDS_storage = base json transcript proc
NEEDS_workspace = base proc storage
NEEDS_model = base json transcript storage
NEEDS_history = base json transcript proc storage model
NEEDS_start = base transcript proc storage model
NEEDS_decide = base json schema transcript proc storage workspace model
NEEDS_view = base json transcript proc storage model
NEEDS_shared = base json transcript storage model

NEEDS_providers = base json transcript proc storage model history start
NEEDS_formats = base json transcript proc storage model providers
NEEDS_definitions = base json schema transcript proc isolate storage workspace history view providers formats
NEEDS_mcp_client = base json proc isolate storage workspace start definitions
NEEDS_turn = base json transcript proc isolate storage workspace model history view providers formats \
	definitions mcp_client
NEEDS_net = base json
NEEDS_httpd = base json net
NEEDS_api = base json transcript model providers net

NEEDS_rerun = base json transcript proc isolate storage model history start providers formats
NEEDS_ingest = base json transcript storage model
NEEDS_projection = base json transcript storage model formats

NEEDS_clock =
NEEDS_ctl = base proc storage model decide
NEEDS_exec = base json proc isolate storage
NEEDS_run = base json transcript proc storage model history start decide view providers formats definitions turn
NEEDS_step = base json transcript proc isolate storage workspace model history start decide view providers formats \
	definitions mcp_client turn
NEEDS_tail = base json transcript proc storage model view projection
NEEDS_replay = base json transcript proc storage model view rerun projection
NEEDS_verify = base json schema transcript proc storage rerun projection

NEEDS_provider = base json transcript proc storage workspace model start providers formats turn net api
NEEDS_tool = base json schema proc isolate workspace definitions
NEEDS_sandbox = base json proc isolate storage workspace
NEEDS_mcp_servers = base json proc start mcp_client net

NEEDS_awf = base json transcript proc isolate storage model view providers formats definitions turn projection
NEEDS_fetch = base json transcript proc storage net ingest
NEEDS_mask = base json transcript
NEEDS_mcp = base json schema transcript proc storage workspace model decide
NEEDS_mirror = base json transcript proc storage ingest ship
NEEDS_models = base json transcript proc isolate net httpd api
NEEDS_record = base json transcript proc storage model ingest
NEEDS_serve = base json transcript proc storage workspace model decide view net httpd ingest projection
NEEDS_ship = base json transcript proc storage model net ingest projection
NEEDS_worker = base json proc storage workspace model

# ---- programs ----
# cmd/ROOM/main.c has the main() of awf-ROOM, or of PROGRAM_ROOM, and cmd/ROOM/NAME_main.c that of
# awf-ROOM-NAME, or of PREFIX_ROOM and NAME. What else is in a room is in each of its programs, as far as
# that needs it.

# Whose main.c is for users, in bin; all other programs are in libexec.
FOR_USERS = awf ctl exec mcp record replay run serve ship step tail verify worker
PROGRAM_awf = awf
PROGRAM_fetch = awf-fetch-run
PROGRAM_models = awf-models-proxy
PREFIX_mcp_servers = awf-mcp-

# What is started for each run, step and tool: its programs are static where that can be.
STARTED_ROOMS = exec run step tool sandbox

# No program of its own: it is put into programs, and links nothing.
APART = clock

# The rooms of which the library is that only programs with HTTP link: libcurl is theirs.
NET_ROOMS = net httpd api

# What is compiled only where there is a library that a machine may lack, as pkg-config calls that; no
# library of ours has it.
WITH_sqlite3 = cmd/ship/sqlite_main.c cmd/ship/sqlite.c cmd/mirror/sqlite_main.c
WITH_libpq = cmd/ship/postgresql_main.c cmd/ship/postgresql.c cmd/mirror/postgresql_main.c
