// Package bandwidth decides how a link is used: what may start, how fast bytes
// may come, and when to step aside. It follows paper A (Diligenti, Maggini,
// Pucci, Scarselli, "Design of a Crawler with Bounded Bandwidth", WWW 2004) and
// goes beyond it where the paper's method lets the rate pass its bound.
//
// Two ideas share the work. Prediction decides what to start: a [Predictor]
// knows how fast each server answers at each hour, and a [Control] admits
// downloads whose predicted rates fit. Credit bounds the wire: a [Credit] lets
// readers take bytes from their sockets only as fast as the bytes that this
// brings may come, since a receiver that reads opens the sender's window, and
// nothing else does.
//
// A [Timetable] and a [Quota] say what the bound is now, and a [Yield] lowers it
// while others need the link.
//
// Everything here is arithmetic on the time that the caller gives. Nothing reads
// a clock, and the same calls give the same answers, live and simulated.
package bandwidth
