package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/team"
	"github.com/loomrun/loom/internal/core/train"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// journeys is how often a train is made whose cars change while it is tested.
const journeys = 2

// drive lands the change together with others that wait to land. It returns no
// outcome where the change is to land by itself after all, under the token that
// the fence may have been raised to.
//
// What the tests have shown is durable before anything lands. The others learn of
// it when they are granted the lock: what has landed is there, and the one that
// made the tests fail is told.
func (j *job) drive(ctx context.Context, token uint64) (*loomv1.Outcome, uint64, error) {
	fence := token
	for range journeys {
		t, err := j.seat.FormTrain(ctx, token)
		if code := fault.Code(err); code == "train/none" || code == "request/denied" { // the host that was asked cannot see the repository
			return nil, fence, nil
		}
		if err != nil {
			return nil, 0, err
		}
		fence = t.Fence
		r := &ride{job: j, train: t, token: token, checked: map[int][]*loomv1.CheckRun{}}
		out, err := r.ride(ctx)
		switch fault.Code(err) {
		case "train/changed", "outcome/no-evidence", "request/denied":
		default:
			return out, fence, err
		}
	}
	return nil, fence, nil
}

// settleTrains finds out which trains have landed whose drivers died before they
// said so, and says it. Whoever holds the lock does it first, whatever it is for.
// Where git cannot tell, the next holder tries again. An outcome is that of a holder
// who has been overtaken.
func (j *job) settleTrains(ctx context.Context, claim *loomv1.LockClaim) (*loomv1.Outcome, error) {
	for _, head := range claim.OpenTrains {
		landing, err := j.repo.Committer.Arrived(ctx, git.ArrivedRequest{
			Deployment: j.brief.Deployment, Token: claim.Token, Target: j.brief.Project.TargetBranch, Head: head,
		})
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case fault.Code(err) == "git/fenced":
			return j.failure(err, ""), nil
		case err != nil:
			j.Logger.Warn("it is not known whether a train has landed", "commit", head, "error", err)
		case landing != nil:
			err := j.seat.SettleTrain(ctx, claim.Token, landing)
			if err != nil && fault.Code(err) != "request/denied" { // the host that was asked cannot see it
				return nil, err
			}
		}
	}
	return nil, nil
}

// settleLandings finds out likewise which commits have landed whose attempts ended
// before that was known, and says of each whether it has: under the fence none of
// them can land any more.
func (j *job) settleLandings(ctx context.Context, claim *loomv1.LockClaim) (*loomv1.Outcome, error) {
	for _, o := range claim.OpenLandings {
		landing, err := j.whereLanded(ctx, claim.Token, o)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case fault.Code(err) == "git/fenced":
			return j.failure(err, ""), nil
		case err != nil:
			j.Logger.Warn("it is not known whether a change has landed", "commit", o.Commit, "error", err)
			continue
		}
		err = j.seat.SettleLanding(ctx, &loomv1.SettleLanding{Execution: o.Execution, Commit: o.Commit, Token: claim.Token, Landing: landing})
		if code := fault.Code(err); err != nil && code != "request/denied" && code != "deployment/older-host" {
			return nil, err
		}
	}
	return nil, nil
}

// whereLanded returns where a change is, with its train or by itself; nil where it
// has not landed.
func (j *job) whereLanded(ctx context.Context, token uint64, o *loomv1.OpenLanding) (*loomv1.Landing, error) {
	req := git.ArrivedRequest{Deployment: j.brief.Deployment, Token: token, Target: j.brief.Project.TargetBranch}
	if o.Head != "" {
		req.Head = o.Head
		landing, err := j.repo.Committer.Arrived(ctx, req)
		if landing != nil {
			landing.Commit = o.Car
		}
		if landing != nil || err != nil {
			return landing, err
		}
	}
	req.Head, req.Execution = o.Commit, o.Execution
	landing, err := j.repo.Committer.Arrived(ctx, req)
	if landing != nil {
		landing.Head = ""
	}
	return landing, err
}

// ride is one train on its way.
type ride struct {
	*job
	train   *loomv1.Train
	token   uint64
	cars    []car // those that could be stacked
	checked map[int][]*loomv1.CheckRun
}

type car struct {
	*loomv1.TrainCar
	made *loomv1.Candidate
}

// asVerified says whether a car is the verified candidate itself.
func (c car) asVerified() bool { return c.made.Commit == c.Candidate.Commit }

func (r *ride) ride(ctx context.Context) (*loomv1.Outcome, error) {
	if err := r.stack(ctx); err != nil {
		return r.refused(ctx, err)
	}
	switch {
	case len(r.cars) == 0 || r.cars[0].Attempt != r.brief.Attempt.Id:
		return nil, nil // its own landing says why
	case len(r.cars) == 1 && r.cars[0].asVerified():
		return nil, nil // nobody to wait for, and nothing to test
	}
	found, err := r.search(ctx)
	if err != nil {
		return nil, err
	}
	if _, more := found.Next(); more {
		return nil, nil // it could not be tested
	}
	return r.end(ctx, found)
}

// stack makes the commits.
func (r *ride) stack(ctx context.Context) error {
	req := git.TrainRequest{Deployment: r.brief.Deployment, Token: r.train.Fence, Target: r.brief.Project.TargetBranch}
	for _, c := range r.train.Cars {
		p, err := r.newPlace()
		if err != nil {
			return err
		}
		defer p.close()
		made, err := r.request(c, p)
		if err != nil {
			return err
		}
		req.Cars = append(req.Cars, git.CarRequest{CandidateRequest: made, Verified: c.Candidate})
	}
	row, err := r.repo.Committer.Stack(ctx, req)
	if err != nil {
		return err
	}
	for i, s := range row {
		if s.Err != nil {
			r.Logger.Info("a change does not ride on the train", "attempt", r.train.Cars[i].Attempt, "error", s.Err)
			continue
		}
		r.cars = append(r.cars, car{r.train.Cars[i], s.Candidate})
	}
	return nil
}

func (r *ride) request(c *loomv1.TrainCar, p *place) (git.CandidateRequest, error) {
	hooks := p.hooks()
	hooks.Cone = coneOf(c)
	about := cmp.Or(strings.TrimSpace(c.Summary), c.Goal)
	subject, body, err := r.message(about, bodyOf(about, c.Notes, c.Change.Makers, c.Bead, c.Goal))
	return git.CandidateRequest{
		Bead: c.Bead, Execution: c.Execution, Decision: c.Decision, Token: c.Token, Change: c.Change,
		Author:  authorOf(team.MakersOf(c.Change, cmp.Or(c.Role, "agent"))[0]),
		Subject: subject, Body: body, Hooks: hooks,
	}, err
}

// authorOf is who a commit says has made its change.
func authorOf(role string) git.Author {
	return git.Author{Name: "Loom " + role, Email: role + "@agents.loom.invalid"}
}

// bodyOf is what a commit says below its first line; makers are those of its
// parts.
func bodyOf(subject, notes string, makers []string, bead, goal string) string {
	if len(makers) > 1 {
		notes += "\n\nParts of it were made by " + strings.Join(makers, ", ") + "."
	}
	asked := "Bead " + bead + " asked for this"
	if strings.TrimSpace(goal) != strings.TrimSpace(subject) {
		asked += ": " + goal
	}
	return strings.TrimSpace(notes + "\n\n" + asked)
}

// search tests the train, and parts of it if it fails. It ends early where a
// command could not be run to its end: nobody is to blame for that.
func (r *ride) search(ctx context.Context) (train.Search, error) {
	known := 0
	if r.cars[0].asVerified() {
		known = 1
	}
	s := train.NewSearch(len(r.cars), known)
	for {
		n, more := s.Next()
		if !more {
			return s, nil
		}
		passed, ran, err := r.test(ctx, n)
		if err != nil || !ran {
			return s, err
		}
		s = s.Seen(n, passed)
	}
}

// test runs what is required for any of the first n cars on the last of them, up
// to the first command that fails.
func (r *ride) test(ctx context.Context, n int) (passed, ran bool, err error) {
	head := r.cars[n-1].made.Commit
	dir, done, err := r.checkoutOf(ctx, r.cone(n), r.cars[0].made.Base, head)
	if err != nil {
		return false, false, err
	}
	defer done()
	p, err := r.newPlace()
	if err != nil {
		return false, false, err
	}
	defer p.close()
	set := tool.New(p.look(dir), nil)
	ready := p.look(dir)
	ready.Exec = p.setup()
	for _, step := range r.setupSteps(dir) {
		if res := r.makeReady(ctx, tool.New(ready, nil), dir, "setup", step, nil); !ranWell(res) {
			r.Logger.Warn("a train could not be tested", "code", "setup/failed", "command", step.Command, "output", res.Output)
			return false, false, context.Cause(ctx)
		}
	}
	for i, command := range r.required(n) {
		args, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			return false, false, err
		}
		call := &loomv1.ToolCall{Id: fmt.Sprintf("train-%d-%d", n, i+1), Tool: "shell", Arguments: string(args)}
		res := set.Call(ctx, []string{"shell"}, checkTimeout, call)
		if ctx.Err() != nil {
			return false, false, context.Cause(ctx)
		}
		result, err := r.result(ctx, res)
		if err != nil {
			return false, false, err
		}
		run := &loomv1.CheckRun{Command: command, ExitCode: result.ExitCode, Output: result.Output, Commit: head, Passed: result.Status == loomv1.ToolStatus_TOOL_STATUS_OK && result.ExitCode == 0}
		r.checked[n] = append(r.checked[n], run)
		switch {
		case result.Status != loomv1.ToolStatus_TOOL_STATUS_OK:
			r.Logger.Warn("a train could not be tested", "command", command, "status", result.Status.String(), "summary", result.Summary)
			return false, false, nil
		case !run.Passed:
			return false, true, nil
		}
	}
	return true, true, nil
}

// cone is what the checks of the first n cars need of the repository, and what those
// touch.
func (r *ride) cone(n int) git.Cone {
	cone := coneOf(r.cars[0].TrainCar)
	for _, c := range r.cars[1:n] {
		cone = cone.Union(coneOf(c.TrainCar))
	}
	return cone
}

func coneOf(c *loomv1.TrainCar) git.Cone { return git.NewCone(c.Checkout.GetSparse()) }

// required returns the commands of the first n cars, each once.
func (r *ride) required(n int) []string {
	var all []string
	for _, c := range r.cars[:n] {
		for _, command := range c.Checks {
			if !slices.Contains(all, command) {
				all = append(all, command)
			}
		}
	}
	return all
}

// end records what was found and lands what may.
func (r *ride) end(ctx context.Context, found train.Search) (*loomv1.Outcome, error) {
	good := found.Good()
	culprit, failed := found.Culprit()
	cars := map[string]*loomv1.Car{}
	alone := good == 1 && r.cars[0].asVerified()
	for _, c := range r.cars[:good] {
		if !alone {
			cars[c.Attempt] = r.record(c, good)
		}
	}
	why := ""
	if failed {
		why = r.blame(culprit)
		c := r.cars[culprit]
		cars[c.Attempt] = &loomv1.Car{Verified: c.Candidate.Commit, Refused: why, Checks: r.checked[culprit+1], Token: r.token}
	}
	if len(cars) > 0 {
		if err := r.seat.RecordTrain(ctx, r.token, cars); err != nil {
			return nil, err
		}
	}
	switch {
	case good == 0:
		return r.derailed(why), nil
	case alone:
		return nil, nil
	}
	return r.arrive(ctx, good)
}

func (r *ride) record(c car, good int) *loomv1.Car {
	return &loomv1.Car{
		Verified: c.Candidate.Commit, Candidate: c.made, Head: r.cars[good-1].made.Commit, Token: r.token,
		Checks: slices.DeleteFunc(slices.Clone(r.checked[good]), func(run *loomv1.CheckRun) bool { return !slices.Contains(c.Checks, run.Command) }),
	}
}

// blame says what failed with a car that had passed without it.
func (r *ride) blame(place int) string {
	runs := r.checked[place+1]
	last := runs[len(runs)-1]
	return fmt.Sprintf("%q exited with %d on %.12s, on top of %s", last.Command, last.ExitCode, last.Commit, r.below(place))
}

func (r *ride) below(place int) string {
	if place == 0 {
		return fmt.Sprintf("the newest target %.12s", r.cars[0].made.Base)
	}
	return fmt.Sprintf("%d changes that pass without it, the last of bead %s", place, r.cars[place-1].Bead)
}

// derailed is the outcome of a change that a train was tested with and failed.
func (j *job) derailed(why string) *loomv1.Outcome {
	return j.failure(fault.New("train/refused", "the change was verified by itself and fails together with what lands before it: %s", why), "")
}

// arrive lands so many cars in one step.
func (r *ride) arrive(ctx context.Context, good int) (*loomv1.Outcome, error) {
	last := r.cars[good-1]
	req := git.LandRequest{
		Deployment: r.brief.Deployment, Bead: last.Bead, Execution: last.Execution, Token: r.train.Fence,
		Target: r.brief.Project.TargetBranch, Candidate: last.made,
	}
	for _, c := range r.cars[:good-1] {
		req.Below = append(req.Below, c.made)
	}
	landing, err := r.repo.Committer.Land(ctx, req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if fault.Code(err) == "git/target-moved" && good > 1 {
			return nil, nil // only one by one is there a branch that they can land on
		}
		return r.failure(err, ""), nil
	}
	landing.Commit = r.cars[0].made.Commit
	out := r.arrived(landing)
	if good > 1 {
		out.Summary += fmt.Sprintf(", with %d others", good-1)
	}
	return out, nil
}
