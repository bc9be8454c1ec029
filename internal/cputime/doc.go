// Package cputime tells how much processor time this process has used: what a
// benchmark on a busy machine can be judged by. It is for tests.
package cputime
