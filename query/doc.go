// Package query is the language in which a crawl is written: it decides what a
// program says, and whether it can mean anything.
//
// A crawl is a query. The crawler supplies facts about the pages it has fetched;
// rules derive from them which pages to fetch next, in the table crawl, and
// whatever else the user wants to know:
//
//	crawl(U, 0)     :- seed(U).
//	crawl(V, D+1)   :- crawl(U, D), link(U, V), D < 3, host(V) = "docs.example.org".
//	broken(U, V, S) :- link(U, V), fetched(V, S), S >= 400.
//	indegree(V, count<U>) :- link(U, V).
//
// [Parse] reads text and reports every fault in one go, one a clause, each with
// its line, its column and what to do about it. [Check] gives every table its
// columns and types, and refuses what has no meaning that all orders of fetching
// agree on. What passes is run by weir/query/flow.
//
// # Grammar
//
//	program = { clause } .                         comment: % or // to the end of the line
//	clause  = ( rule | "input" table "(" type { "," type } ")" "from" "text"
//	          | "set" name "=" constant | ( "live" | "small" ) table { "," table } ) "." .
//	rule    = head [ ":-" literal { "," literal } ] .
//	head    = table "(" column { "," column } ")" .
//	column  = [ "min" | "max" ] expr | aggregate "<" [ expr { "," expr } ] ">" .
//	literal = [ "!" ] table "(" expr { "," expr } ")" | [ "!" ] test "(" expr { "," expr } ")"
//	        | expr ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) expr .
//	expr    = Var | _ | "text" | 12 | 1.5 | 30s | 7d | 10KB | $name
//	        | function "(" expr { "," expr } ")" | expr ( "+" | "-" | "*" | "/" ) expr | "(" expr ")" .
//
// A text stands on one line. In "double quotes" a backslash before " \ n t r makes
// a quote, a backslash, a newline, a tab, a return; before anything else it stands for
// itself, so that patterns read as they do elsewhere: "\.pdf$", "\bsolar\b". Only a pattern
// that matches a backslash needs four of them. In `backquotes` every character
// stands for itself. Numbers may have a unit: ms s m h d make seconds,
// KB MB GB TB thousands of bytes, KiB MiB GiB TiB those of 1024; 1.5h is 5400.
// A minus stands before numbers only: 0 - X for others. * and / bind before + and -.
// Words that begin declarations are names of tables too where a bracket follows.
//
// Tables are lower case, variables upper case. $name is a setting: "set max = 3."
// gives its value, --set max=5 another one. An input is a file of rows, complete
// before the crawl begins. A live table is kept up during the crawl although
// crawl does not need it. A small table is kept in memory on every node and
// looked up where the links are found; when it grows, pages that were read
// before are read again at the end, so it should not grow often.
//
// # Tables
//
// Facts about pages come from the crawler ([Facts] lists them). All facts of a
// page arrive together. seed(url, score) are the pages the user names. Three derived
// tables are orders: crawl(url, min depth, max priority), of which the last columns may be
// left out, stop(reason) and wait(host, max seconds).
//
// A column of a derived table may be min or max: the table then has one row for
// each value of the other columns, and that column holds the least or greatest
// value derived for it. In rules that the crawl depends on such a value may be
// used only where a better one keeps the conclusion true.
//
// # Live and final
//
// A table is live, level 0, when growing facts can only add rows or improve
// them: then every order of fetching ends with the same rows, and they may steer
// the crawl. Other negation and aggregates belong to final tables, of a higher
// level: they are worked out when the crawl is over, or over what there is so
// far. Three uses of negation and aggregates are live all the same: over an
// input, over the page's own facts beside another fact of the same page (they
// come together, so what is not there will never be), and counts in a max column,
// which only rise.
//
// Every page fact depends on crawl, since a page is fetched because crawl asks
// for it.
package query
