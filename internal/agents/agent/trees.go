package agent

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// trees keeps apart what happens at once in the worktrees of executions: phases
// run side by side in one, but it is moved to another base only while none
// does, and git works on it for one at a time. Its zero value is ready.
type trees struct {
	mu   sync.Mutex
	open map[string]*tree
}

// tree is the worktree of one execution, for as long as anybody uses it.
type tree struct {
	users int
	run   *semaphore.Weighted
	git   sync.Mutex

	setup sync.Mutex        // held by who makes it ready for its own code
	laid  map[string]string // by command: the key of the result that was copied into it
	ready bool              // it was made ready once, so that others may be at work in it
}

const whole = 1 << 20 // of a tree, more than phases can run at once

// use returns the worktree's entry; done gives it back.
func (t *trees) use(execution string) (entry *tree, done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[string]*tree{}
	}
	entry = t.open[execution]
	if entry == nil {
		entry = &tree{run: semaphore.NewWeighted(whole)}
		t.open[execution] = entry
	}
	entry.users++
	return entry, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if entry.users--; entry.users == 0 {
			delete(t.open, execution)
		}
	}
}

// note notes which result of a command was copied into the worktree last.
func (e *tree) note(command, key string) {
	if e.laid == nil {
		e.laid = map[string]string{}
	}
	e.laid[command] = key
}

// alone runs f while nobody else works in the worktree, or returns the
// context's error.
func (e *tree) alone(ctx context.Context, f func() error) error {
	if err := e.run.Acquire(ctx, whole); err != nil {
		return err
	}
	defer e.run.Release(whole)
	return f()
}

// unused runs f if nobody works in the worktree now, and says whether.
func (e *tree) unused(f func() error) (bool, error) {
	if !e.run.TryAcquire(whole) {
		return false, nil
	}
	defer e.run.Release(whole)
	e.git.Lock()
	defer e.git.Unlock()
	return true, f()
}

// sharing is what shares a worktree in which others are at work, with git to itself; nil
// for nil.
func (e *tree) sharing(share func(context.Context) error) func(context.Context) error {
	if share == nil {
		return nil
	}
	return func(ctx context.Context) error {
		e.git.Lock()
		defer e.git.Unlock()
		return share(ctx)
	}
}

// beside lets somebody work in the worktree beside others, until done.
func (e *tree) beside(ctx context.Context) (done func(), err error) {
	if err := e.run.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { e.run.Release(1) }, nil
}
