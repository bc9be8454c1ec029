// Package fetch carries out one visit at a time: it looks a name up, opens a
// connection, sends a request and reads the answer, keeping every byte as it
// came. It decides nothing about order or manners; internal/node does that.
//
// It speaks HTTP/1.1 on raw connections. What a server did comes back as a
// [page.Outcome]; a Go error means that something of our own failed. Read
// [Client] first, then [Conn.Get] and [Answer].
//
// The bytes of an answer pass three places:
//
//	socket -> link: counts, waits for the Limiter, keeps the deadlines
//	       -> TLS, where the scheme asks for it
//	       -> tape: keeps the bytes verbatim, in memory or in a spool file
//	       -> frame: finds the end of the body; what it holds is the payload
//
// A page should cost little more than its system calls and its digest, and a
// slow server little memory and few wakeups, for there are thousands of both.
// So plain headers are read by hand where they lie on the tape, and only odd
// ones by net/http; a body is read into a buffer of its size; a deadline is set
// on the socket once in many answers; the buffer of a slow answer grows with
// what came, and its bytes are gathered in the socket. An idle connection holds
// no buffer.
//
// Under a limit it is the [Wire] that reads, for whoever waits, when its account
// has room for what that brings: see take.go.
//
// How an answer becomes an outcome, first rule that fits:
//
//	cut short by the context                         Aborted
//	no byte, on a connection used before             EarlyClose
//	no byte within Limits.FirstByte                  FirstByteTimeout
//	slower than Limits.MinRate, or past Whole        TooSlow
//	header over Limits.MaxHeader                     HeaderTooLarge
//	not HTTP/1 (0.9, SSH, HTTP/2), unreadable header BadResponse
//	300-303, 307, 308 with a usable Location         Redirected
//	any other 3xx, also an unasked 304               BadRedirect
//	429, or 503 with a Retry-After                   RateLimited
//	other 4xx; other 5xx and 600 up (RFC 9110, 15)   ClientError; ServerError
//	2xx whose body broke off                         Truncated
//	2xx whose body passed Limits.MaxBody             TooLarge
//	2xx                                              OK
//
// Broken HTTP is read with care for one thing: bytes of one answer must never
// be taken for another's. Contradicting Content-Lengths, NUL and a lone CR in a
// header are refused; a folded header line (obs-fold) is joined with a space;
// Transfer-Encoding beats Content-Length. A connection is used again only when
// the answer ended exactly where its framing said, without any of those doubts,
// and was not a 204 or 304, whose stray bodies cannot be told from the next
// answer. Close-delimited bodies over TLS may end without a close_notify, as
// browsers allow.
//
// Credentials written into a URL are not sent: they come from pages, and pages
// are written by strangers. Config.Auth is the way.
package fetch
