"""Shows that invariants fail: python3 tests/support/invariants.py [BUILD [WORD...]], after make tests.

Each row of MUTATIONS breaks what one INVARIANT() promises by a mistake that a person makes, and names
a test in which it fails then. Two copies of the tree, below BUILD, share all of its files but those
that a mutation changes: the source, its object, and what is linked of that. A line for each: "ok -
FILE:LINE", the place of the invariant that failed, or "not ok - FILE: CONDITION: what happened".

With WORDs, the rows whose file has one of these in its name alone. Without BUILD nothing is made: a line
for each row whose line is not there any more (make lint)."""
import collections
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading

# file: the source that is changed. promise: how the condition begins of the invariant that fails; with
# "FILE: " before it if it stands elsewhere. line: what stands in the file once, in one line or several,
# without tabs at their beginnings; broken: what stands there instead, in as many lines. test: a program
# of tests/unit/, or "FILE: PART", the tests of a file below tests/cli/ that have this in their names.
# programs: below BUILD/test, those that such tests run and that are linked again.
Mutation = collections.namedtuple("Mutation", "file promise line broken test programs",
                                  defaults=("",))

MUTATIONS = [Mutation(*row) for row in (
    ("lib/base/arena.c", "piece->used <= piece->size && (uintptr_t)",
     "size_t at = piece != NULL ? (piece->used + align - 1) / align * align : 0;",
     "size_t at = piece != NULL ? piece->used : 0;", "test_base_arena"),
    ("lib/base/buffer.c", "buffer_holds(b)",
     "need = b->len + len + 1;", "need = b->len + len;", "test_base_buffer"),
    ("lib/base/clock.c", "text_reads_back(text, wall)",
     "cached_day = day;", "cached_day = day + 1;", "test_base_clock"),
    ("lib/base/clock.c", "fraction >= 0 && fraction < SECOND",
     "int64_t fraction = (wall % SECOND + SECOND) % SECOND;",
     "int64_t fraction = wall % SECOND;", "test_base_clock"),
    ("lib/base/digest.c", "out->len - before == digits",
     "*to++ = n > 1 ? base64_digits[bits >> 6 & 63] : '=';",
     "if (n > 1) *to++ = base64_digits[bits >> 6 & 63];", "test_base_digest"),
    ("lib/base/error.c", "code < ERROR_CODES && strpbrk",
     "make_line(err->place);", "", "test_base_error"),
    ("lib/base/error.c", "code < ERROR_CODES && (code == ERROR_NONE)",
     '[ERROR_STUCK] = {"stuck", CLASS_WORK, STATUS_WORK, "execution"},',
     '[ERROR_STUCK] = {"stuck", CLASS_WORK, STATUS_OK, "execution"},', "test_base_error"),
    ("lib/base/folded_messages.c", "f->count <= FOLDED_KINDS_MOST",
     "} else if (f->count < FOLDED_KINDS_MOST) {", "} else if (f->count <= FOLDED_KINDS_MOST) {",
     "test_base_folded_messages"),
    ("lib/base/id.c", "id_valid(out, strlen(out)) && out[14]",
     "bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);",
     "bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x40);", "test_base_id"),
    ("lib/base/id.c", "pool_owner == getpid()",
     "fork_watched = pthread_atfork(NULL, NULL, pool_empty) == 0;", "fork_watched = true;",
     "test_base_id"),
    ("lib/base/line_diff.c", "d->old.count - d->removed == d->now.count",
     "d->added += change.added;", "d->added += change.removed;", "test_line_diff"),
    ("lib/base/list.c", "list_count(*list) == count + 1",
     "(*list)[count + 1] = NULL;", "(*list)[count] = NULL;", "test_base_list"),
    ("lib/base/map.c", "m->count <= m->capacity / 2",
     "if (m->count >= m->capacity / 2) {", "if (m->count >= m->capacity) {", "test_base_map"),
    ("lib/base/map.c", "map_holds(m)",
     "m->table[i] = (uint32_t)n + 1;", "m->table[i] = (uint32_t)n;", "test_base_map"),
    ("lib/base/options.c", "o->next >= 1",
     "if (*o->cluster == '\\0')\no->cluster = NULL;", "\n", "test_base_options"),
    ("lib/base/text.c", "high == character_run_count",
     "if (character_runs[middle] >> CHARACTER_FLAG_BITS <= code)",
     "if (character_runs[middle] >> CHARACTER_FLAG_BITS < code)", "test_base_text"),
    ("lib/base/text.c", "kept <= i + piece.len",
     "text[kept++] = text[i] == '\\n' || text[i] == '\\t' ? ' ' : '?';",
     "{ text[kept++] = '\\\\'; text[kept++] = 'n'; }", "test_base_error"),
    ("lib/base/text.c", "piece.len >= n && piece.len <= len",
     "piece.len = n;", "piece.len = n + 1;", "test_base_text"),
    ("lib/io/file.c", "b->len >= before && b->len - before <= limit",
     "errno = EFBIG;\nn = -1;", "errno = EFBIG;\n", "test_base_file"),
    ("lib/io/path.c", "path_is_normal(normal)",
     "if (len == 2 && memcmp(path, \"..\", 2) == 0) {",
     "if (len == 3 && memcmp(path, \"../\", 3) == 0) {", "test_base_file"),
    ("lib/json/line_input.c", "s->searched <= s->bytes.len",
     "s->searched -= s->next;", "", "test_line_input"),
    ("lib/json/line_input.c", "s->next <= s->searched",
     "s->next = 0;", "", "test_line_input"),
    ("lib/json/line_input.c", "memchr(*line, '\\n', *len) == NULL",
     "*len = s->searched - s->next - (lf != NULL);", "*len = s->searched - s->next;", "test_line_input"),
    ("lib/json/line_input.c", "r->count <= r->room",
     "if (r->count < r->room) {", "if (r->count <= r->room) {", "test_line_input"),
    ("lib/json/scan.c", "p >= at && p <= end",
     "f->scalar = !f->in_string && f->depth == 0;", "f->scalar = !f->in_string;", "test_scan"),
    ("lib/json/scan.c", "out->len - before <= value.len",
     "run = ++at;", "++at;", "test_scan"),
    ("lib/json/span.c", "at <= end && (escape == NULL",
     "return end - at > 6 ? at + 6 : end;", "return at + 6;", "test_span"),
    ("lib/json/value.c", "strtod(real, NULL) == json_real_value(value)",
     "while (digits < 17 && strtod(real, NULL) != json_real_value(value));",
     "while (digits < 15 && strtod(real, NULL) != json_real_value(value));", "test_value"),
    ("lib/json/writer.c", "writer_holds(w)",
     "buffer_byte(w->out, '}');\nw->comma = true;", "buffer_byte(w->out, '}');\n", "test_writer"),
    ("lib/json/writer.c", "out->len - before >= len + 2",
     "if (run < end)\nbuffer_append(out, run, (size_t)(end - run));", "\n", "test_writer"),
    ("lib/schema/compare.c", "b.digits > 0 && a.exponent",
     "for (; a.exponent < b.exponent; b.exponent--) {",
     "for (; a.exponent + 1 < b.exponent; b.exponent--) {", "test_schema"),
    ("lib/schema/pattern_match.c", "places->count < s->size",
     "places->seen[place] = w->step;", "", "test_pattern"),
    ("lib/schema/pattern_program.c", "ranges_hold(ranges, last + 1)",
     "if (ranges[i].low > ranges[last].high + 1)", "if (ranges[i].low > ranges[last].high)", "test_pattern"),
    ("lib/schema/schema_check.c", "c->scope == scope.outer",
     "c->scope = scope.outer;", "", "test_schema"),
    ("lib/transcript/blob.c", "x.copied >= value.at",
     "x->copied = value.at + value.len;", "x->copied = value.at + value.len + 1;", "test_blob"),
    ("lib/transcript/call.c", "call_holds(c) && c->next[0]",
     "if (parent == NULL)\nbuffer_clear(&c->links);", "\n", "test_call"),
    ("lib/transcript/fingerprints.c", "at == fingerprints_home_slot(fingerprint, set->capacity)",
     "while (set->slots[at] != 0 && (set->slots[at] | ENDED) < (fingerprint | ENDED))",
     "while (set->slots[at] != 0 && (set->slots[at] | ENDED) <= (fingerprint | ENDED))", "test_verify"),
    ("lib/transcript/fingerprints.c", "fingerprints_hold(set)",
     "if (at < next)\nat = next;", "\n", "test_verify"),
    ("lib/transcript/fingerprints.c", "fingerprints_hold(set)",
     "set->open--;", "", "test_verify"),
    ("lib/transcript/line.c", "line_holds(l, seq, prev)",
     "memcpy(l->bytes.data + l->bytes.len - LINE_PREV_BACK, prev, DIGEST_SIZE - 1);",
     "memcpy(l->bytes.data + l->bytes.len - LINE_PREV_BACK - 1, prev, DIGEST_SIZE - 1);",
     "test_transcript"),
    ("lib/transcript/line.c", "text_prefix_of(out->data + l->signature",
     "l->signature = out->len - SEAL_BACK;", "l->signature = out->len - SEAL_BACK - 1;", "test_seal"),
    ("lib/transcript/line.c", "lib/transcript/seal.c: at > 0 && at + SEAL_SIGNATURE < len",
     "l->signature - l->start);", "l->signature);", "test_seal"),
    ("lib/transcript/linkage.c", "claims_hold(claims, count)",
     "if (l->count > 0)\nqsort(l->claims, l->count, sizeof *l->claims, linkage_compare_claims);", "\n",
     "verify/awf-verify.bats: ", "bin/awf-verify"),
    ("lib/transcript/reader.c", "reader_holds(r) && r->position <= r->settled",
     "if (r->position > start)\nr->position = start;", "\n", "test_reader"),
    ("lib/transcript/seal.c", "seal_valid(span_of(line, len)",
     "memcpy(line + at, digits, SEAL_SIGNATURE);", "memcpy(line + at, digits, SEAL_SIGNATURE - 1);",
     "test_seal"),
    ("lib/transcript/transcript_append.c", "e->seq == t->seq + 1 && t->wall >= last",
     "if (t->wall < wall)\nt->wall = wall;", "t->wall = wall;\n", "test_transcript"),
    ("lib/transcript/transcript.c", "!t->locked && t->owner == getpid()",
     "t->locked = false;\npthread_sigmask(SIG_SETMASK, before, NULL);",
     "\npthread_sigmask(SIG_SETMASK, before, NULL);", "test_transcript"),
    ("lib/transcript/transcript_append.c", "t->parent_run_id[0] == '\\0'",
     "if (e->parent_run_id == NULL && t->parent_run_id[0] != '\\0')\ne->parent_run_id = t->parent_run_id;",
     "\n",
     "run/child.bats: each line of a child names its parent", "bin/awf-run bin/awf-step"),
    ("lib/transcript/transcript_append.c", "transcript_holds(t)",
     "t->seq = e->seq;", "t->seq = 0;", "test_transcript"),
    ("lib/transcript/verify.c", "result != 0 || report->faulty",
     "c->line++;", "", "test_verify"),
    ("lib/transcript/verify_lines.c", "lines_hold(v)",
     "report->tool_calls++;", "", "test_verify"),
    ("lib/transcript/window.c", "from >= w->at && from <= to",
     "bool held = w->bytes.len > 0 && from >= w->at && to <= window_end(w);",
     "bool held = w->bytes.len > 0 && to <= window_end(w);", "test_reader"),
    ("lib/proc/environment.c", "environment_holds(e) && environment_get",
     "while ((i = environment_index(e, name)) < e->count) {",
     "if ((i = environment_index(e, name)) < e->count) {", "test_environment"),
    ("lib/proc/last_words.c", "said.len <= LAST_WORDS_MOST",
     "line->len = len;", "", "test_last_words"),
    ("lib/proc/last_words.c", "*len < end",
     "if (*len > 0)\n--*len;\nINVARIANT(*len < end);", "\n\nINVARIANT(*len < end);", "test_last_words"),
    ("lib/proc/peer.c", "p->sent <= p->outgoing.len",
     "return 0;\np->sent = 0;\nreturn 0;", "return 0;\n\nreturn 0;", "test_peer"),
    ("lib/proc/peer.c", "p->errors.len <= 2 * (size_t)ERRORS_KEPT",
     "if (p->errors.len > 2 * (size_t)ERRORS_KEPT)", "if (len > 2 * (size_t)ERRORS_KEPT)", "test_peer"),
    ("lib/proc/subprocess.c", "s->errors.len <= SUBPROCESS_STDERR_TAIL",
     "if (s->errors.len > SUBPROCESS_STDERR_TAIL + READ_SIZE)",
     "if (s->errors.len > 2 * (SUBPROCESS_STDERR_TAIL + READ_SIZE))", "test_subprocess"),
    ("lib/proc/subprocess.c", "(int64_t)s->errors.len <= s->errors_bytes",
     "s->errors_bytes += (int64_t)len;", "", "test_subprocess"),
    ("lib/storage/queue.c", "queue_others_hold(q)",
     "q->last = entry.number > q->last ? entry.number : q->last;", "", "test_queue"),
    ("lib/storage/queue.c", "q->run_id[0] != '\\0'",
     "snprintf(q->run_id, sizeof q->run_id, \"%s\", run_id);\npath = ticket_path(q);",
     "path = ticket_path(q);\n", "test_queue"),
    ("lib/decide/retention.c", "retention_plan_holds(items, count)",
     "bool full = false, rescued = true;", "bool full = false, rescued = false;", "test_retention"),
    ("lib/storage/roster.c", "len == RECORD",
     "len = snprintf(record, sizeof record, \"%c%c %-10ld %-*s%*s %s %-*ld %-*s\\n\", RECORD_BEGUN,",
     "len = snprintf(record, sizeof record, \"%c%c %-11ld %-*s%*s %s %-*ld %-*s\\n\", RECORD_BEGUN,",
     "test_roster"),
    ("lib/storage/roster.c", "at % RECORD == 0",
     "const off_t at = (st.st_size + RECORD - 1) / RECORD * RECORD;", "const off_t at = st.st_size;",
     "test_roster"),
    ("lib/storage/roster.c", "s->looked < s->count",
     "s->count = ((size_t)got + RECORD - 1) / RECORD;", "s->count = (size_t)got / RECORD;", "test_roster"),
    ("lib/storage/roster.c", "(off_t)r->record % RECORD == 0",
     "if (put == RECORD)\nr->record = at;", "if (put == RECORD)\nr->record = at + 1;", "test_roster"),
    ("lib/storage/traceparent.c", "strlen(out) == LENGTH",
     "snprintf(out, TRACEPARENT_SIZE, \"00-%s-%s-%02x\", t->trace_id, t->span_id,",
     "snprintf(out, TRACEPARENT_SIZE, \"00-%s-%s-%x\", t->trace_id, t->span_id,", "test_traceparent"),
    ("lib/model/call_index.c", "(x->capacity & (x->capacity - 1)) == 0",
     "if (4 * (x->count + 1) > 3 * x->capacity)", "if (x->count + 1 >= x->capacity)", "test_model"),
    ("lib/model/call_index.c", "call_index_find(x, call->id",
     "x->table[at] = NULL;", "", "test_model"),
    ("lib/model/event_index.c", "(x->capacity & (x->capacity - 1)) == 0",
     "if (4 * (x->count + 1) > 3 * x->capacity)", "if (x->count + 1 > x->capacity)", "test_model"),
    ("lib/model/event_index.c", "number > x->count",
     "x->table[event_index_probe(x, x->entries[x->count - 1].id)] = number;", "", "test_model"),
    ("lib/model/follow.c", "follow_find(f, child->run_id) == run",
     "run = new_run(f, path, parent, parent->depth + child->depth);",
     "run = new_run(f, path, parent, child->depth);",
     "run/child.bats: one tree", "bin/awf-tail"),
    ("lib/model/listing.c", "l->count <= spec->count",
     "if (l->count >= spec->count)\nbreak;", "\n", "replay/awf-replay-show.bats: what was cancelled",
     "bin/awf-tail"),
    ("lib/model/model.c", "(m->first == NULL) == (m->final == NULL)",
     "*(c->next != NULL ? &back_of(c->next)->previous : &m->final) = back->previous;",
     "if (c->next != NULL) back_of(c->next)->previous = back->previous;", "test_model"),
    ("lib/model/model.c", "p->call == NULL || (p->step == p->call->step",
     "p->number = p->call->number;", "", "test_model"),
    ("lib/model/price.c", "nano > WHOLE_MAX * NANO",
     "size_t len = (size_t)snprintf(out, MONEY_SIZE, \"%lld.%09lld\", (long long)(nano / NANO),",
     "size_t len = (size_t)snprintf(out, MONEY_SIZE, \"%lld.%lld\", (long long)(nano / NANO),", "test_price"),
    ("lib/history/history.c", "sorted_calls_hold(calls, count)",
     "if (count > 1)\nqsort(calls, count, sizeof *calls, compare_calls);", "\n", "test_history"),
    ("lib/history/history.c", "(uint64_t)lseek(x->fd, 0, SEEK_CUR)",
     "head.places = x->place_count;", "", "test_history"),
    ("lib/history/history_index.c", "low == 0 || !history_same_key",
     "if (order < 0)", "if (order <= 0)", "test_history"),
    ("lib/history/recording_read.c", "c->links.claims < index",
     "c->links.root = rec->calls[earlier].links.root;", "c->links.root = earlier;", "test_history"),
    ("lib/history/recording_read.c", "recording_holds(rec)",
     "before->links.claimed_by = index;", "before->links.claimed_by = index + 1;", "test_history"),
    ("lib/view/live.c", "w->text.len == 0 || kind == w->kind",
     "if (kind != w->kind)\nend_line(w);", "\n", "test_live"),
    ("lib/rerun/graph.c", "s->heaped == 0 || !goes_first",
     "if (below + 1 < s->heaped && goes_first(s->graph, s->heap[below + 1], s->heap[below]))\nbelow++;",
     "\n", "test_graph"),
    ("lib/rerun/graph.c", "s->waits[out] == 0",
     "if (--s->waits[s->effects[e]] == 0)", "if (s->waits[s->effects[e]]-- > 0)", "test_graph"),
    ("lib/rerun/graph.c", "s->heaped <= s->graph->count",
     "for (; at > 0 && goes_first(s->graph, node, s->heap[(at - 1) / 2]); at = (at - 1) / 2)",
     "for (; at > 1 && goes_first(s->graph, node, s->heap[(at - 1) / 2]); at = (at - 1) / 2)", "test_graph"),
    ("lib/shared/guard.c", "way_out == NULL",
     "way_out = NULL;\nreturn code;", "\nreturn code;", "test_library"),
    ("lib/httpd/framing.c", "f->digits <= SIZE_DIGITS",
     "if (c == '\\0' || digit == NULL || f->digits == SIZE_DIGITS)", "if (c == '\\0' || digit == NULL)",
     "test_httpd"),
    ("lib/httpd/framing.c", "f->left >= 0 && *used <= len",
     "if ((int64_t)most > f->left)\nmost = (size_t)f->left;", "\n", "test_httpd"),
    ("lib/httpd/loop.c", "list->last == NULL",
     "if (l->timers[i].last == timer)\nl->timers[i].last = timer->previous;", "\n", "test_httpd"),
    ("lib/httpd/loop.c", "(l->tasks == 1) == (l->first == task)",
     "l->tasks--;", "", "test_httpd"),
    ("lib/net/sse.c", "s->has_data || s->data.len == 0",
     "s->has_data = false;\nsse_clear(&s->data);\nbuffer_clear(&s->event);\nreturn result;",
     "s->has_data = false;\n\nbuffer_clear(&s->event);\nreturn result;", "test_sse"),
    ("lib/net/sse.c", "memchr(line, '\\n', len) == NULL",
     "stop = memchr(at, '\\r', (size_t)((lf == NULL ? end : lf) - at));",
     "stop = lf != NULL ? NULL : memchr(at, '\\r', (size_t)(end - at));", "test_sse"),
    ("lib/net/sse.c", "s->line.len == 0 && stop < end",
     "result = sse_read_line(s, s->line.data, s->line.len);\nsse_clear(&s->line);",
     "result = sse_read_line(s, s->line.data, s->line.len);\n", "test_sse"),
    ("lib/turn/turn.c", "runs->count > 0 && (agent->limits.stuck_after == 0",
     "if (++l->conversation.same_calls == agent->limits.stuck_after) {",
     "if (l->conversation.same_calls++ == agent->limits.stuck_after) {",
     "run/handoff.bats: handing over and over", "bin/awf-step"),
    ("cmd/replay/call_tree.c", "(group->first == CALL_TREE_NONE)",
     "else\ntree->entries[group->last].next = at;\ngroup->last = at;",
     "else {\ntree->entries[group->last].next = at;\ngroup->last = at; }",
     "replay/awf-replay-show.bats: --tree and --timeline of the recorded runs", "bin/awf-replay"),
    ("cmd/replay/call_tree.c", "group->last == CALL_TREE_NONE || tree->entries",
     "e->above = above;", "e->above = above; e->next = group->first;",
     "replay/awf-replay-show.bats: --tree and --timeline of the recorded runs", "bin/awf-replay"),
    ("cmd/run/overlap.c", "before->number < q->number",
     "for (size_t i = 0; i < q->count && q->others[i].number < q->number; i++)",
     "for (size_t i = 0; i < q->count; i++)", "run/overlap.bats: buffer-all: all run", "bin/awf-run"),
    ("cmd/serve_runs/feed.c", "cmd/serve_runs/backlog.c: backlog_holds(b)",
     "backlog_add(b, at, before, feed->end);", "backlog_add(b, at, feed->end, feed->end);",
     "serve/serve-live.bats: text comes while", "bin/awf-serve"),
    ("cmd/serve_runs/feed.c", "kept <= old",
     "taken = len < FEED_TAIL ? len : FEED_TAIL;", "taken = len;",
     "serve/serve-live.bats: text comes while", "bin/awf-serve"),
    ("cmd/serve_runs/frame.c", "strlen(id) < FRAME_ID_SIZE",
     "snprintf(id, FRAME_ID_SIZE, \"%\" PRId64 \"-%.*s\", seq, FRAME_DIGITS,",
     "snprintf(id, FRAME_ID_SIZE, \"%\" PRId64 \"-%.*s\", seq, FRAME_DIGITS - 1,",
     "serve/serve-live.bats: text comes while", "bin/awf-serve"),
    ("cmd/serve_runs/pace.c", "stock->left <= p->rate",
     "if (stock->left > full)\nstock->left = full;", "\n", "test_pace"),
    ("cmd/step_call/workers.c", "workers_hold(w)",
     "worker->job = w->next_job++;", "worker->job = ++w->next_job;", "test_workers"),
    ("cmd/step_kinds/work_group.c", "lib/transcript/event.c: id_valid(event_id",
     "done = step_result_unpack(&message, &b->results[b->ended++], err);",
     "done = step_result_unpack(&message, &b->results[b->ended], err);",
     "step/group-parallel.bats: lines come out in the order", "bin/awf-step"),
    ("cmd/tail/main.c", "lib/base/options.c: table_holds(table)",
     "OPTION_INTO_NUMBER(struct tail, after, 0, INT64_MAX) },",
     "OPTION_INTO_NUMBER(struct tail, after, 0, INT64_MAX) }, {200, 'n', \"newest\", NULL, \"the newest\"},",
     "tail/awf-tail.bats: the view, as it is on no terminal", "bin/awf-tail"),
    ("cmd/replay/call_series.c", "call_siblings_hold(s)",
     "if (until > series->until)\nseries->until = until;", "\n",
     "replay/awf-replay-show.bats: --tree and --timeline of the recorded runs", "bin/awf-replay"),
    ("lib/decide/telling.c", "(o->call != NULL) == (failed == 0)",
     "o->call = memory_text(search.word.call);", "o->call = NULL;",
     "ctl/tell.bats: it arrives before the next request", "bin/awf-ctl"),
    ("lib/storage/mailbox.c", "mailbox_is_whole(*fd)",
     "size--;", "break;", "ctl/tell.bats: it arrives before the next request", "bin/awf-ctl"),
    ("lib/storage/mailbox.c", "m->count > 0 && !m->closed",
     ".position = position };", ".position = position, .closed = true };",
     "ctl/tell.bats: it arrives before the next request", "bin/awf-step"),
    ("lib/storage/session.c", "s->fd == -1 || lseek(fd, 0, SEEK_END) == (off_t)at",
     "if (s->fd != -1 && at < lines.len && ftruncate(fd, (off_t)at) == -1) {",
     "if (s->fd != -1 && at < lines.len && at > lines.len) {",
     "step/session.bats: each call goes on with the latest", "bin/awf-step"),
    ("lib/storage/session.c", "strcmp((*names)[i - 1], (*names)[i]) < 0",
     "qsort(*names, count, sizeof **names, in_order);", "(void)in_order;",
     "step/session.bats: each call goes on with the latest", "bin/awf-tail"),
    ("cmd/worker/resumer.c", "(f.next == 0) == (f.count >= FAILURES_TRIED)",
     "return count < FAILURES_TRIED ? clock_wall() + (RESUME_PAUSE_MS * 1000 << (3 * count - 3)) : 0;", "return 0;",
     "worker/resumer.bats: what cannot be resumed is tried three times", "bin/awf-worker"),
    ("lib/storage/resumes.c", "f->count > 0",
     "if (f->count < RESUME_FAILURES_MOST)\nf->count++;", "f->count = -20;\n",
     "worker/resumer.bats: a count of failures that cannot be", "bin/awf-worker"),
    ("lib/turn/approve.c", "failed != 0 || run->refused",
     "buffer_append(&run->edited, input.at, input.len);",
     "buffer_append(&run->edited, input.at, input.len - 1);",
     "step/approve-tools.bats: denied, with the reason; edited", "bin/awf-step"),
    ("lib/turn/loop_compact.c", "replaced > 0 && begins_with_answer",
     "while (start > 0 && !span_is(span_member(list[start], KEY_ROLE), \"assistant\"))",
     "while (start > 0 && span_is(span_member(list[start], KEY_ROLE), \"assistant\"))",
     "step/compact.bats: above the limit the older messages", "bin/awf-step"),
    ("lib/turn/loop_compact.c", "l->conversation.givers.count == kept + 1",
     "for (size_t i = was.count - kept; i < was.count; i++)",
     "for (size_t i = was.count - kept + 1; i < was.count; i++)",
     "step/compact.bats: above the limit the older messages", "bin/awf-step"),
    ("lib/limits/day.c", "r->spent >= 0 && ledger_find(l, name) == r",
     "fit_name(name, r->name);", "r->name[0] = '-';",
     "step/day.bats: one run after another", "bin/awf-step"),
    ("lib/limits/day.c", "least <= limit - spent && spent < limit",
     "if (least > limit - spent)", "if (least < 0)",
     "step/day.bats: a request whose input alone costs more", "bin/awf-step"),
    ("lib/limits/hold.c", "*again > now",
     "*again = now + greatest(1, held > 0 ? greatest(held, least(expected, held + LOOK_MS)) :\n"
     "least(expected + 1, LOOK_MS));",
     "*again = now + greatest(0, held > 0 ? greatest(held, least(expected, held + LOOK_MS)) :\n"
     "least(expected, LOOK_MS));", "test_hold"),
    ("lib/model/tool_approval.c", "tool_approval_is_always(call",
     "writer_member_bool(&w, ALWAYS, true);", "writer_member_bool(&w, ALWAYS, false);",
     "step/approve-tools.bats: awf-ctl approve --always", "bin/awf-ctl"),
    ("cmd/setup/attention.c", "by_urgency(&a->list[i - 1], &a->list[i]) <= 0",
     "qsort(a->list, a->count, sizeof *a->list, by_urgency);", "(void)a;",
     "awf/status.bats: no more than fits the screen", "libexec/awf/awf-status"),
)]

# As many invariants at least are shown.
FEWEST = 50

# Seconds, for a test.
LIMIT = 120


class Refused(Exception):
    """Why an invariant is not shown."""


class Tree:
    """A copy of the tree, in which one mutation after the other is made."""

    def __init__(self, build, number):
        self.origin = os.getcwd()
        self.build = os.path.relpath(build)
        self.path = os.path.join(build, "invariants", str(number))
        os.makedirs(os.path.join(self.path, self.build))
        self.link_entries(".", {".git", self.build.split("/")[0]})
        self.link_entries(self.build, {"invariants"})
        for name in os.listdir(os.path.join(self.path, self.build)):
            if name.startswith("times"):
                os.remove(os.path.join(self.path, self.build, name))

    def link_entries(self, directory, without):
        entries = [os.path.join(self.origin, directory, name)
                   for name in os.listdir(directory) if name not in without]
        subprocess.run(["cp", "-al", *entries, os.path.join(self.path, directory)], check=True)

    def replace(self, name, text):
        """A file of the copy alone is changed."""
        path = os.path.join(self.path, name)
        os.remove(path)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def restore(self, names):
        """Files are as in the tree, and newer than all that was made of them before."""
        for name in names:
            path = os.path.join(self.path, name)
            if os.path.lexists(path):
                os.remove(path)
            shutil.copy(os.path.join(self.origin, name), path)

    def make(self, targets):
        for target in targets:
            os.remove(os.path.join(self.path, target))
        made = subprocess.run(["make", "-s", "--no-print-directory", "BUILD=" + self.build, *targets],
                              cwd=self.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              encoding="utf-8", check=False)
        if made.returncode != 0:
            raise Refused("does not build: " + made.stdout.strip().splitlines()[-1])

    def run(self, test):
        """What the log of invariants has after a test."""
        log = os.path.join(self.path, self.build, "times.invariants")
        environment = dict(os.environ, BUILD=os.path.join(self.path, self.build), JOBS="1")
        with subprocess.Popen(["sh", "tests/run", test], cwd=self.path, env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)  # it ends the test
                process.wait()
        if not os.path.exists(log):
            raise Refused("nothing fails" if process.returncode == 0 else "the test alone fails")
        with open(log, encoding="utf-8", errors="replace") as text:
            return text.read()


def mutated(text, mutation):
    """The text of a source with the mistake in it."""
    lines, wanted = text.split("\n"), mutation.line.split("\n")
    places = [i for i in range(len(lines) - len(wanted) + 1)
              if [line.strip() for line in lines[i:i + len(wanted)]] == wanted]
    if len(places) != 1:
        raise Refused("the line to be changed is there %d times" % len(places))
    broken = mutation.broken.split("\n")
    if len(broken) != len(wanted):
        raise Refused("is changed into another number of lines")
    lines[places[0]:places[0] + len(wanted)] = broken
    return "\n".join(lines)


def read_mutated(mutation):
    try:
        with open(mutation.file, encoding="utf-8") as text:
            return mutated(text.read(), mutation)
    except FileNotFoundError:
        raise Refused("there is no %s" % mutation.file) from None


def some_tests(text, name):
    """A bats file with those tests alone that have this in their names."""
    return re.sub(r'^@test "(.*)" \{\n(?:.*\n)*?\}\n',
                  lambda test: test[0] if name in test[1] else "", text, flags=re.M)


def place_of(mutation):
    """The file of the invariant, and its condition's beginning."""
    found = re.match(r"(\S+\.[ch]): (.*)", mutation.promise)
    return found.groups() if found else (mutation.file, mutation.promise)


def show(tree, mutation):
    """The place of the invariant that a mutation makes fail."""
    source = read_mutated(mutation)
    stem = "%s/obj/%s" % (tree.build, mutation.file[:-2])
    changed, test = [mutation.file], "%s/tests/unit/%s" % (tree.build, mutation.test)
    targets = ["%s/test/%s" % (tree.build, name) for name in mutation.programs.split()] or [test]
    if mutation.programs:
        name, part = mutation.test.split(": ", 1)
        test = "tests/cli/" + name
        if not os.path.exists(test):
            raise Refused("there is no %s" % test)
        with open(test, encoding="utf-8") as text:
            only = some_tests(text.read(), part)
        if "\n@test " not in only:
            raise Refused("%s has no such test" % test)
        tree.replace(test, only)
        changed.append(test)
    tree.replace(mutation.file, source)
    for end in (".o", ".d"):
        os.remove(os.path.join(tree.path, stem + end))
    try:
        tree.make(targets)
        said = tree.run(test)
    finally:
        tree.restore([*changed, *targets, stem + ".d"])
        tree.restore([stem + ".o"])
    file, condition = place_of(mutation)
    for line in said.splitlines():
        found = re.match(r"(\S+:\d+): (.*)", line)
        if found and found[1].startswith(file + ":") and found[2].startswith(condition):
            return found[1]
    raise Refused("another fails: " + said.splitlines()[0])


def work(build, number, rows, results):
    tree = Tree(build, number)
    while True:
        try:
            mutation = rows.get_nowait()
        except queue.Empty:
            return
        try:
            place = show(tree, mutation)
            results.append(place)
            print("ok - " + place, flush=True)
        except Refused as why:
            print("not ok - %s: %s: %s" % (*place_of(mutation), why), flush=True)


def check_lines():
    """Whether each row can still be made: 1 if not."""
    failed = 0
    for mutation in MUTATIONS:
        try:
            read_mutated(mutation)
        except Refused as why:
            print("tests/support/invariants.py: %s: %s: %s" % (*place_of(mutation), why))
            failed = 1
    return failed


def main():
    if len(sys.argv) == 1:
        sys.exit(check_lines())
    build, words = os.path.abspath(sys.argv[1]), sys.argv[2:]
    shutil.rmtree(os.path.join(build, "invariants"), ignore_errors=True)
    rows, results = queue.Queue(), []  # the places of what was shown
    for mutation in MUTATIONS:
        if not words or any(word in mutation.file for word in words):
            rows.put(mutation)
    count = rows.qsize()
    workers = [threading.Thread(target=work, args=(build, number, rows, results))
               for number in range(int(os.environ.get("JOBS", os.cpu_count())))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    shutil.rmtree(os.path.join(build, "invariants"), ignore_errors=True)
    shown = len(set(results))
    print("%d shown, %d not shown" % (shown, count - len(results)))
    sys.exit(len(results) < count or shown < (1 if words else FEWEST))


main()
