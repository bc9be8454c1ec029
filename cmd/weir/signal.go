package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interrupts lets a person end a long job in two steps: the first Ctrl-C (or
// SIGTERM or SIGHUP) calls told and closes stop, the second cancels ctx. A third ends the
// process at once, should a disk not let the job end. A SIGHUP that nohup has had
// ignored stays so. The caller calls release when the job is over.
func (e *env) interrupts(told func()) (ctx context.Context, stop <-chan struct{}, release func()) {
	ctx, cancel := context.WithCancel(e.ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	first, over := make(chan struct{}), make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case <-signals:
			told()
			close(first)
		case <-over:
			return
		}
		select {
		case <-signals:
			cancel()
		case <-over:
			return
		}
		select {
		case <-signals:
			os.Exit(exitInterrupted) // not left to the signal: who began in the background may have been told to ignore it
		case <-over:
		}
	})
	return ctx, first, func() {
		signal.Stop(signals)
		close(over)
		watcher.Wait()
		cancel()
	}
}
