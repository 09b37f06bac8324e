package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/identity"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// lands is the role that lands, and keeps the one without whose agents nothing
// comes to that.
const lands, keeps = "engineering-manager", "researcher"

const landing = `name: landing
version: "1.0"
description: A change of one file, and its way to the target.
nodes:
  - {id: start, type: start}
  - {id: make, type: task, role: implementer}
  - {id: commit, type: task, role: engineering-manager, config: {kind: commit}}
  - {id: verify, type: task, role: qa-engineer, config: {kind: verify}}
  - {id: gate, type: task, role: researcher}
  - {id: land, type: task, role: engineering-manager, config: {kind: land}}
  - {id: end, type: end}
edges:
  - {id: e1, from: start, to: make}
  - {id: e2, from: make, to: commit}
  - {id: e3, from: commit, to: verify}
  - {id: e4, from: verify, to: gate}
  - {id: e5, from: gate, to: land}
  - {id: e6, from: land, to: end}
`

var ordered = regexp.MustCompile(`write file-(\d)`)

// writesOne writes the file of its order, and finds that all is as it should be.
func writesOne(r *model.Request) (*model.Response, error) {
	said, answered := "", false
	for _, m := range r.Messages {
		answered = answered || m.Role == model.RoleAssistant
		said += m.Text
	}
	tool, args := turn.FinishName, map[string]any{"status": "success", "summary": "done", "notes": ""}
	if n := ordered.FindStringSubmatch(said); !answered && n != nil && strings.Contains(said, "\nnode: make\n") {
		tool, args = "file_write", map[string]any{"path": "file-" + n[1], "content": n[1] + "\n"}
	}
	text, err := json.Marshal(args)
	return &model.Response{Calls: []*loomv1.ToolCall{{Tool: tool, Arguments: string(text)}}, Stop: model.StopTools}, err
}

// yard is a host with three changes that are verified and wait for somebody to
// land them.
type yard struct {
	t     *testing.T
	c     host.Config
	h     *host.Host
	beads []string
	// Who may have agents elsewhere: of these the host knows before there is a
	// change, so that it shares it.
	thief, leaf identity.Credentials
}

func newYard(t *testing.T) *yard {
	y := &yard{t: t, c: config(t, scripted.New("yard", writesOne))}
	y.c.Listen, y.c.Train, y.c.LockLease = "127.0.0.1:0", 4, 10*time.Minute
	y.c.Agents = map[string]int{lands: 1, keeps: 0}
	y.c.Projects[0].Checks = []string{"test -s a.txt"}
	library, err := processes.Load(processes.NewLibrary(), fstest.MapFS{"landing.yaml": {Data: []byte(landing)}}, ".", roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	y.c.Processes = library
	y.h = start(t, y.c)
	y.thief, y.leaf = y.credentials("w1"), y.credentials("w2")
	for _, c := range []identity.Credentials{y.thief, y.leaf} {
		eventually(t, "the credentials are let in", func() bool {
			nc, err := broker.DialAs(c, "", false)
			if err == nil {
				nc.Close()
			}
			return err == nil
		})
	}
	for n := range 3 {
		reply, err := connect(t, y.h, "operator").Submit(t.Context(), &loomv1.Submission{Project: "shop", Process: "landing", Goal: fmt.Sprintf("write file-%d", n+1)})
		if err != nil {
			t.Fatal(err)
		}
		y.beads = append(y.beads, reply.Bead)
	}
	y.wait("gate")
	y.scale(lands, 0)
	y.scale(keeps, 1)
	y.wait("land")
	return y
}

// wait returns when all changes have come to a node.
func (y *yard) wait(node string) {
	y.t.Helper()
	eventually(y.t, "three changes wait at "+node, func() bool {
		for i := range y.beads {
			if y.execution(i).GetNodes()[node].GetAttempt() == nil {
				return false
			}
		}
		return true
	})
}

// scale returns when the host has so many agents of a role.
func (y *yard) scale(role string, n uint32) {
	y.t.Helper()
	if _, err := connect(y.t, y.h, "operator").Scale(y.t.Context(), &loomv1.ScaleRole{Role: role, Host: presenceName(y.t, y.h), Agents: &n}); err != nil {
		y.t.Fatal(err)
	}
	eventually(y.t, fmt.Sprintf("%d agents of %s", n, role), func() bool {
		for _, r := range presenceOf(y.t, y.h, presenceName(y.t, y.h)).GetRoles() {
			if r.Role == role && r.Actual == n {
				return true
			}
		}
		return false
	})
}

func (y *yard) execution(i int) *loomv1.Execution {
	view, err := connect(y.t, y.h, "operator").Execution(y.t.Context(), &loomv1.Query{Project: "shop", Id: y.beads[i] + "-x1"})
	if err != nil || len(view.Executions) != 1 {
		return nil
	}
	return view.Executions[0]
}

func (y *yard) credentials(name string) identity.Credentials {
	y.t.Helper()
	_, secrets, err := identity.Add(y.t.Context(), identity.NewFile(y.c.Data), identity.Request{Name: name, Kind: identity.Worker, Roles: []string{lands}}, time.Now())
	if err != nil {
		y.t.Fatal(err)
	}
	return identity.Credentials{Name: name, Kind: identity.Worker, URL: y.h.URL(), Secrets: secrets}
}

// thief is a worker's credentials in hands that keep to no rules, at an attempt.
type thief struct {
	y    *yard
	nc   *nats.Conn
	ctx  context.Context
	seat *loomv1.SeatRequest
}

// steal has it claim the first change's landing. It says that it lives until the
// test ends.
func (y *yard) steal() *thief {
	y.t.Helper()
	th, name := &thief{y: y}, y.thief.Name
	var err error
	if th.nc, err = broker.DialAs(y.thief, "", false); err != nil {
		y.t.Fatal(err)
	}
	y.t.Cleanup(th.nc.Close)
	ctx, cancel := context.WithTimeout(y.t.Context(), patience)
	y.t.Cleanup(cancel)
	th.ctx = ctx
	th.beat(name)
	a := y.execution(0).GetNodes()["land"].GetAttempt()
	th.seat = &loomv1.SeatRequest{
		Claimant: &loomv1.Claimant{Agent: lands + "/1", Host: name, Epoch: 7}, Project: "shop", Attempt: a.GetId(), Generation: a.GetGeneration(),
	}
	th.must(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: a.GetId(), Generation: a.GetGeneration()}}})
	return th
}

func (th *thief) beat(name string) {
	data, err := proto.Marshal(&loomv1.HostPresence{Host: name, Epoch: 7, Alive: true, Roles: []*loomv1.RoleCount{{Role: lands, Desired: 1}}})
	if err != nil {
		th.y.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(th.ctx)
	var beats sync.WaitGroup
	beats.Go(func() {
		tick := time.NewTicker(300 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			_ = th.nc.Publish("loom.v1.leaf."+name, data) // whoever misses it is told again
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	th.y.t.Cleanup(func() { cancel(); beats.Wait() })
}

func (th *thief) do(cmd *loomv1.Command) (*loomv1.Answer, error) {
	q := proto.CloneOf(th.seat)
	q.Body = &loomv1.SeatRequest_Command{Command: cmd}
	reply, err := host.AskSeat(th.ctx, th.nc, q)
	return reply.GetAnswer(), err
}

func (th *thief) must(cmd *loomv1.Command) *loomv1.Answer {
	th.y.t.Helper()
	answer, err := th.do(cmd)
	if err != nil {
		th.y.t.Fatal(err)
	}
	return answer
}

func form(token uint64) *loomv1.Command {
	return &loomv1.Command{Body: &loomv1.Command_FormTrain{FormTrain: &loomv1.FormTrain{Token: token}}}
}

func record(token uint64, cars map[string]*loomv1.Car) *loomv1.Command {
	return &loomv1.Command{Body: &loomv1.Command_RecordTrain{RecordTrain: &loomv1.RecordTrain{Token: token, Cars: cars}}}
}

// TestBYD08_SEC01_AgentsOfALeafHostDriveTrains has whoever has stolen a worker's
// credentials say of a train what the repository does not show, and then the agents
// of a leaf host drive one.
func TestBYD08_SEC01_AgentsOfALeafHostDriveTrains(t *testing.T) {
	y := newYard(t)
	th := y.steal()
	token := th.must(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{}}}).GetLock().GetToken()
	if token == 0 {
		t.Fatal("the lock is not free")
	}
	far := y.c
	far.Data, far.Agents, far.Processes, far.Listen = t.TempDir(), map[string]int{lands: 2}, nil, ""
	leaf, err := host.StartLeaf(t.Context(), far, y.leaf, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leaf.Stop(context.Background()) })
	eventually(t, "two agents wait for the lock", func() bool {
		view, err := connect(t, y.h, "operator").Lock(t.Context(), &loomv1.Query{Project: "shop"})
		return err == nil && len(view.Locks) == 1 && len(view.Locks[0].Queue) == 2
	})
	train := th.must(form(token)).GetTrain()
	if len(train.GetCars()) != 3 {
		t.Fatalf("the train is %v, want three cars", train)
	}
	y.lies(th, token, train)
	th.must(&loomv1.Command{Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: token}}})
	th.must(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{Reason: "enough"}}})
	eventually(t, "all changes have landed", func() bool {
		for _, bead := range y.beads {
			if !closed(t, y.h, bead) {
				return false
			}
		}
		return true
	})
	repo, err := git.Open(t.Context(), y.c.Projects[0].Repository)
	if err != nil {
		t.Fatal(err)
	}
	together := map[string]int{}
	for i := range y.beads {
		if head := y.execution(i).GetLanding().GetHead(); head != "" {
			together[head]++
			if is, err := repo.Reached(t.Context(), "main", head); !is {
				t.Errorf("bead %s landed with %s, which is not on the target: %v", y.beads[i], head, err)
			}
		}
	}
	if len(together) != 1 {
		t.Errorf("landed with trains: %v; want one, of two or three", together)
	}
	for head, n := range together {
		if n < 2 {
			t.Errorf("%d landed with %s", n, head)
		}
	}
}

func found(commit string) *loomv1.Landing {
	return &loomv1.Landing{Commit: commit, Ref: "refs/heads/main"}
}

// lies are what is refused, and changes nothing.
func (y *yard) lies(th *thief, token uint64, train *loomv1.Train) {
	y.t.Helper()
	said := func(change func(*loomv1.Car)) map[string]*loomv1.Car {
		cars := map[string]*loomv1.Car{}
		for _, c := range train.Cars {
			made := proto.CloneOf(c.Candidate)
			made.Token = c.Token
			cars[c.Attempt] = &loomv1.Car{
				Verified: c.Candidate.Commit, Candidate: made, Head: c.Candidate.Commit, Token: token,
				Checks: []*loomv1.CheckRun{{Command: "test -s a.txt", Passed: true, Commit: c.Candidate.Commit}},
			}
			change(cars[c.Attempt])
		}
		return cars
	}
	nowhere := strings.Repeat("1", 40)
	for what, change := range map[string]func(*loomv1.Car){
		"a commit that is not there": func(c *loomv1.Car) { c.Candidate.Commit = nowhere },
		"an end that is not there":   func(c *loomv1.Car) { c.Head = nowhere },
		"a commit that is none":      func(c *loomv1.Car) { c.Candidate.Commit = "main" },
		"another's commit": func(c *loomv1.Car) {
			c.Candidate.Commit, c.Head = train.Cars[0].Candidate.Commit, train.Cars[0].Candidate.Commit
		},
		"another patch":                func(c *loomv1.Car) { c.Candidate.PatchDigest = "sha256:1" },
		"a base that it does not have": func(c *loomv1.Car) { c.Candidate.Base = c.Candidate.Commit },
		"an end of another's":          func(c *loomv1.Car) { c.Head = c.Candidate.Base },
		"nothing":                      func(c *loomv1.Car) { c.Candidate, c.Head = nil, "" },
	} {
		if _, err := th.do(record(token, said(change))); fault.Code(err) != "request/denied" {
			y.t.Errorf("a train with %s: %v, want request/denied", what, err)
		}
	}
	many := map[string]*loomv1.Car{}
	for n := range 51 {
		many[fmt.Sprintf("shop-%d-x1-a1", n)] = &loomv1.Car{}
	}
	for what, cmd := range map[string]*loomv1.Command{"cars too many": record(token, many), "another's grant": form(token + 1), "a record of another's grant": record(token+1, nil)} {
		if _, err := th.do(cmd); err == nil {
			y.t.Errorf("%s: no error", what)
		}
	}
	for what, head := range map[string]string{"that is not there": nowhere, "that has not landed": train.Cars[0].Candidate.Commit, "that is none": ""} {
		settle := &loomv1.SettleTrain{Token: token, Landing: &loomv1.Landing{Head: head, Ref: "refs/heads/main"}}
		if _, err := th.do(&loomv1.Command{Body: &loomv1.Command_SettleTrain{SettleTrain: settle}}); fault.Code(err) != "request/denied" {
			y.t.Errorf("a train settled by a commit %s: %v, want request/denied", what, err)
		}
	}
	for what, l := range map[string]*loomv1.Landing{"that is not there": found(nowhere), "that has not landed": found(train.Cars[0].Candidate.Commit), "that has not landed, it says": nil} {
		settle := &loomv1.SettleLanding{Token: token, Execution: train.Cars[0].Execution, Commit: train.Cars[0].Candidate.Commit, Landing: l}
		if _, err := th.do(&loomv1.Command{Body: &loomv1.Command_SettleLanding{SettleLanding: settle}}); fault.Code(err) != "request/denied" {
			y.t.Errorf("a landing of a commit %s: %v, want request/denied", what, err)
		}
	}
	other := proto.CloneOf(th.seat)
	other.Claimant.Agent, other.Body = lands+"/2", &loomv1.SeatRequest_Command{Command: form(token)}
	if _, err := host.AskSeat(th.ctx, th.nc, other); fault.Code(err) != "lock/stale" {
		y.t.Errorf("an agent that does not hold the lock: %v, want lock/stale", err)
	}
	for i := range y.beads {
		if x := y.execution(i); x.GetCar() != nil || x.GetLanding() != nil {
			y.t.Errorf("something is recorded of %s: %v, %v", x.GetId(), x.GetCar(), x.GetLanding())
		}
	}
}
