// Package plan decides who gets how much of a link, and when, so that sites are
// done by their deadlines; or it says why they cannot be, and what would help.
//
// A Problem is a link, sites with sizes, and what holds for them: deadlines, the
// speed of each site, manners, a bound on the sites at a time. A Plan gives every
// site a Course: rates over time, and when it is done.
//
//   - Solve makes a Plan whose rates change over time, with a lower bound of what
//     any plan could reach, so that everybody sees how good it is.
//   - MaxT, SumT and CPQ are the methods of Zhu et al., "Optimal Bandwidth
//     Allocation for Web Crawler Systems" (2019), with their slips mended; Slots
//     is their integer program, as an LP file for any solver.
//   - Admit says whether all deadlines can be kept, exactly; Explain says of those
//     that cannot what is missing, and what would do.
//   - Reserve keeps promises while a crawl runs, whatever it has learned since.
//   - Verify checks a Plan against its Problem, and trusts nobody.
//
// Times are seconds from now, sizes bytes, rates bytes a second; any other units
// will do as long as they fit together. Everything here is a pure function:
// the same Problem gives the same Plan, on every machine, since every product is
// rounded before it is added to anything.
package plan
