# Sourced by the bats files about awf-sql(7): its queries, as they stand there.
# shellcheck shell=bash

# Whether each of those that are asked of any database gives what it should of runs().
answers_are_right() {
	ask() { sql "$(example awf-sql.7 "$1")"; }
	local today
	today=$(sql 'SELECT max(day) FROM cost_by_day')
	same "$(ask 'FROM cost_by_day' | grep '|m|')" "$today|replay|m|1|1000|200|0.006"
	same "$(ask 'AS worst_ms' | cut -d'|' -f1,2)" 'notes|1'
	same "$(ask 'AS percent' | head -n 1 | sed 's/\.0*$//')" 'a|1|100'
	same "$(ask 'AS retries')" 'a|1|2'
	same "$(ask 'WHERE input_tokens IS NOT NULL' | cut -d'|' -f2-)" 'paid|1000|200|0.006'
	same "$(ask "'%notes.txt'" | cut -d'|' -f2-4)" 'edit|notes.txt|changed'
	[[ $(ask "'%autumn%'") == *'|write|answers/writer.jsonl|In autumn the tree '* ]]
	[[ $(ask p95_ms) =~ research\|[0-9]+ ]]
	same "$(ask "'waiting'" | cut -d'|' -f1,3,4)" 'waits|check:0:0|approval'
	same "$(ask "t.name = 'notes'" | cut -d'|' -f2,4)" 'brief.awf|1'
}
