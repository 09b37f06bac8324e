// Code generated from loom.v1.HostService by "go test ./internal/net/client -update". DO NOT EDIT.

package client

import (
	"context"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Services asks the services of a host, a method each. A method returns once the host
// has answered; what it changes is durable then. Where the host refuses, the error is
// its own, and the answer is not nil. Without a deadline of the caller's a service has
// 10 seconds, and 100 where it may read a journal from its beginning.
type Services struct{ host asker }

// Project asks the service project; the answer: what it has, as a View.
func (s Services) Project(ctx context.Context, q *loomv1.Query) (*loomv1.View, error) {
	return ask(ctx, s.host, "project", q, &loomv1.View{})
}

// Bead asks the service bead; the answer: what it has, as a View.
func (s Services) Bead(ctx context.Context, q *loomv1.Query) (*loomv1.View, error) {
	return ask(ctx, s.host, "bead", q, &loomv1.View{})
}

// Execution asks the service execution; the answer: what it has, as a View.
func (s Services) Execution(ctx context.Context, q *loomv1.Query) (*loomv1.View, error) {
	return ask(ctx, s.host, "execution", q, &loomv1.View{})
}

// History asks the service history; the answer: the transitions of an execution.
func (s Services) History(ctx context.Context, q *loomv1.HistoryRequest) (*loomv1.HistoryReply, error) {
	return ask(ctx, s.host, "history", q, &loomv1.HistoryReply{})
}

// Artifacts asks the service artifacts; the answer: documents that landed, with their versions.
func (s Services) Artifacts(ctx context.Context, q *loomv1.ArtifactsRequest) (*loomv1.ArtifactsReply, error) {
	return ask(ctx, s.host, "artifacts", q, &loomv1.ArtifactsReply{})
}

// Artifact asks the service artifact; the answer: a part of a document's file, or of its preview as a page.
func (s Services) Artifact(ctx context.Context, q *loomv1.ArtifactRequest) (*loomv1.ArtifactReply, error) {
	return ask(ctx, s.host, "artifact", q, &loomv1.ArtifactReply{})
}

// Why asks the service why; the answer: why a line of code is there, from its commit to its decision.
func (s Services) Why(ctx context.Context, q *loomv1.WhyRequest) (*loomv1.WhyReply, error) {
	return ask(ctx, s.host, "why", q, &loomv1.WhyReply{})
}

// Files asks the service files; the answer: a directory of a project's repository at any position.
func (s Services) Files(ctx context.Context, q *loomv1.FilesRequest) (*loomv1.FilesReply, error) {
	return ask(ctx, s.host, "files", q, &loomv1.FilesReply{})
}

// File asks the service file; the answer: a part of a file of a project's repository at any position, without secrets.
func (s Services) File(ctx context.Context, q *loomv1.FileRequest) (*loomv1.FileReply, error) {
	return ask(ctx, s.host, "file", q, &loomv1.FileReply{})
}

// Blame asks the service blame; the answer: which commits the lines of a file came with.
func (s Services) Blame(ctx context.Context, q *loomv1.BlameRequest) (*loomv1.BlameReply, error) {
	return ask(ctx, s.host, "blame", q, &loomv1.BlameReply{})
}

// Commits asks the service commits; the answer: the history of a project's repository, or of a file in it, the newest first.
func (s Services) Commits(ctx context.Context, q *loomv1.CommitsRequest) (*loomv1.CommitsReply, error) {
	return ask(ctx, s.host, "commits", q, &loomv1.CommitsReply{})
}

// Compare asks the service compare; the answer: how two positions of a project's repository differ, with a diff without secrets.
func (s Services) Compare(ctx context.Context, q *loomv1.CompareRequest) (*loomv1.CompareReply, error) {
	return ask(ctx, s.host, "compare", q, &loomv1.CompareReply{})
}

// Transcript asks the service transcript; the answer: a page of what an execution's agents were told, said, called and got.
func (s Services) Transcript(ctx context.Context, q *loomv1.TranscriptRequest) (*loomv1.TranscriptReply, error) {
	return ask(ctx, s.host, "transcript", q, &loomv1.TranscriptReply{})
}

// Blobs asks the service blobs; the answer: a part of what a tool printed, of a prompt or of a diff, by its SHA-256.
func (s Services) Blobs(ctx context.Context, q *loomv1.BlobRequest) (*loomv1.BlobReply, error) {
	return ask(ctx, s.host, "blobs", q, &loomv1.BlobReply{})
}

// State asks the service state; the answer: an execution as of any moment, folded from the journal.
func (s Services) State(ctx context.Context, q *loomv1.StateRequest) (*loomv1.StateReply, error) {
	return ask(ctx, s.host, "state", q, &loomv1.StateReply{})
}

// Inbox asks the service inbox; the answer: what it has, as a View.
func (s Services) Inbox(ctx context.Context, q *loomv1.Query) (*loomv1.View, error) {
	return ask(ctx, s.host, "inbox", q, &loomv1.View{})
}

// Notices asks the service notices; the answer: a page of history, read from the journals.
func (s Services) Notices(ctx context.Context, q *loomv1.NoticesRequest) (*loomv1.NoticesReply, error) {
	return ask(ctx, s.host, "notices", q, &loomv1.NoticesReply{})
}

// Graph asks the service graph; the answer: what it has, as a View.
func (s Services) Graph(ctx context.Context, q *loomv1.Query) (*loomv1.View, error) {
	return ask(ctx, s.host, "graph", q, &loomv1.View{})
}

// Ask asks the service ask; the answer: what is asked of the decision graph, now or as it was.
func (s Services) Ask(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	return ask(ctx, s.host, "ask", q, &loomv1.GraphReply{})
}

// Metrics asks the service metrics; the answer: how workflows fare, beside their targets.
func (s Services) Metrics(ctx context.Context, q *loomv1.MetricsRequest) (*loomv1.MetricsReply, error) {
	return ask(ctx, s.host, "metrics", q, &loomv1.MetricsReply{})
}

// Cost asks the service cost; the answer: what model calls have cost, and how attempts fared.
func (s Services) Cost(ctx context.Context, q *loomv1.CostRequest) (*loomv1.CostReply, error) {
	return ask(ctx, s.host, "cost", q, &loomv1.CostReply{})
}

// Lock asks the service lock; the answer: what it has, as a View.
func (s Services) Lock(ctx context.Context, q *loomv1.Query) (*loomv1.View, error) {
	return ask(ctx, s.host, "lock", q, &loomv1.View{})
}

// Workflow asks the service workflow; the answer: the newest of each name, or all with the filter `all`; by `NAME` or `NAME@HASH` one, whole.
func (s Services) Workflow(ctx context.Context, q *loomv1.Query) (*loomv1.View, error) {
	return ask(ctx, s.host, "workflow", q, &loomv1.View{})
}

// Pause asks the service pause; the answer: what it has, as a View.
func (s Services) Pause(ctx context.Context, q *loomv1.Query) (*loomv1.View, error) {
	return ask(ctx, s.host, "pause", q, &loomv1.View{})
}

// Permission asks the service permission; the answer: what it has, as a View.
func (s Services) Permission(ctx context.Context, q *loomv1.Query) (*loomv1.View, error) {
	return ask(ctx, s.host, "permission", q, &loomv1.View{})
}

// Key asks the service key; the answer: what it has, as a View.
func (s Services) Key(ctx context.Context, q *loomv1.Query) (*loomv1.View, error) {
	return ask(ctx, s.host, "key", q, &loomv1.View{})
}

// Command asks the service command; the answer: a command that the CEO has signed is carried out.
func (s Services) Command(ctx context.Context, q *loomv1.SignedCommand) (*loomv1.Answer, error) {
	return ask(ctx, s.host, "command", q, &loomv1.Answer{})
}

// Respond asks the service respond; the answer: a question of an agent is answered, or one call allowed or refused.
func (s Services) Respond(ctx context.Context, q *loomv1.DecideApproval) (*loomv1.SubmitReply, error) {
	return ask(ctx, s.host, "respond", q, &loomv1.SubmitReply{})
}

// Memory asks the service memory; the answer: those that count, or of a status with the filter (`active`, `expired`, `dropped`, `forgotten`, `all`); with `text` what is found, best first, and `found`; by id one, whole; with the filter `offered` the `offers` to attempts of an execution.
func (s Services) Memory(ctx context.Context, q *loomv1.Query) (*loomv1.View, error) {
	return ask(ctx, s.host, "memory", q, &loomv1.View{})
}

// Remember asks the service remember; the answer: an entry is kept, changed or forgotten.
func (s Services) Remember(ctx context.Context, q *loomv1.MemoryRequest) (*loomv1.Answer, error) {
	return ask(ctx, s.host, "remember", q, &loomv1.Answer{})
}

// Session asks the service session; the answer: what it has, as a View.
func (s Services) Session(ctx context.Context, q *loomv1.Query) (*loomv1.View, error) {
	return ask(ctx, s.host, "session", q, &loomv1.View{})
}

// Intent asks the service intent; the answer: one is opened, or a person answers, seals, steers or aborts.
func (s Services) Intent(ctx context.Context, q *loomv1.IntentRequest) (*loomv1.Answer, error) {
	return ask(ctx, s.host, "intent", q, &loomv1.Answer{})
}

// Conversation asks the service conversation; the answer: what it has, as a View.
func (s Services) Conversation(ctx context.Context, q *loomv1.Query) (*loomv1.View, error) {
	return ask(ctx, s.host, "conversation", q, &loomv1.View{})
}

// Converse asks the service converse; the answer: one is opened, or a person says something, stops, sets or closes.
func (s Services) Converse(ctx context.Context, q *loomv1.ConverseRequest) (*loomv1.Answer, error) {
	return ask(ctx, s.host, "converse", q, &loomv1.Answer{})
}

// Host asks the service host; the answer: the host, its projects and agents.
func (s Services) Host(ctx context.Context, q *loomv1.HostRequest) (*loomv1.HostReply, error) {
	return ask(ctx, s.host, "host", q, &loomv1.HostReply{})
}

// Hosts asks the service hosts; the answer: the hosts of the deployment, and what is wanted of them, or why that is not known.
func (s Services) Hosts(ctx context.Context, q *loomv1.HostsRequest) (*loomv1.HostsReply, error) {
	return ask(ctx, s.host, "hosts", q, &loomv1.HostsReply{})
}

// Cluster asks the service cluster; the answer: how the streams are kept.
func (s Services) Cluster(ctx context.Context, q *loomv1.ClusterRequest) (*loomv1.ClusterReply, error) {
	return ask(ctx, s.host, "cluster", q, &loomv1.ClusterReply{})
}

// Submit asks the service submit; the answer: what it has, as a View.
func (s Services) Submit(ctx context.Context, q *loomv1.Submission) (*loomv1.SubmitReply, error) {
	return ask(ctx, s.host, "submit", q, &loomv1.SubmitReply{})
}

// Report asks the service report; the answer: what it has, as a View.
func (s Services) Report(ctx context.Context, q *loomv1.ErrorReport) (*loomv1.SubmitReply, error) {
	return ask(ctx, s.host, "report", q, &loomv1.SubmitReply{})
}

// Update asks the service update; the answer: what it has, as a View.
func (s Services) Update(ctx context.Context, q *loomv1.BeadRequest) (*loomv1.SubmitReply, error) {
	return ask(ctx, s.host, "update", q, &loomv1.SubmitReply{})
}

// Decide asks the service decide; the answer: a decision, link, successor, abandonment, ballot or vote is durable.
func (s Services) Decide(ctx context.Context, q *loomv1.DecisionRequest) (*loomv1.Answer, error) {
	return ask(ctx, s.host, "decide", q, &loomv1.Answer{})
}

// Fork asks the service fork; the answer: a new bead that begins with what an execution is, or was.
func (s Services) Fork(ctx context.Context, q *loomv1.ForkRequest) (*loomv1.SubmitReply, error) {
	return ask(ctx, s.host, "fork", q, &loomv1.SubmitReply{})
}

// Say asks the service say; the answer: an agent that works on an execution will hear it.
func (s Services) Say(ctx context.Context, q *loomv1.SayRequest) (*loomv1.SubmitReply, error) {
	return ask(ctx, s.host, "say", q, &loomv1.SubmitReply{})
}

// Set asks the service set; the answer: conditions and agents read the values from the next step on.
func (s Services) Set(ctx context.Context, q *loomv1.SetRequest) (*loomv1.SubmitReply, error) {
	return ask(ctx, s.host, "set", q, &loomv1.SubmitReply{})
}

// Scale asks the service scale; the answer: how many agents of a role are wanted.
func (s Services) Scale(ctx context.Context, q *loomv1.ScaleRole) (*loomv1.StaffingReply, error) {
	return ask(ctx, s.host, "scale", q, &loomv1.StaffingReply{})
}

// Drain asks the service drain; the answer: a host takes no new work, or takes some again.
func (s Services) Drain(ctx context.Context, q *loomv1.DrainHost) (*loomv1.StaffingReply, error) {
	return ask(ctx, s.host, "drain", q, &loomv1.StaffingReply{})
}

// Retention asks the service retention; the answer: what was cut off journals, or would be.
func (s Services) Retention(ctx context.Context, q *loomv1.RetentionRequest) (*loomv1.RetentionReply, error) {
	return ask(ctx, s.host, "retention", q, &loomv1.RetentionReply{})
}

// Toolkit asks the service toolkit; the answer: a part of a package's tools is kept, so that the CEO can trust it.
func (s Services) Toolkit(ctx context.Context, q *loomv1.ToolkitPart) (*loomv1.ToolkitReply, error) {
	return ask(ctx, s.host, "toolkit", q, &loomv1.ToolkitReply{})
}

// Members asks the service members; the answer: which hosts the cluster has.
func (s Services) Members(ctx context.Context, q *loomv1.MembersRequest) (*loomv1.MembersReply, error) {
	return ask(ctx, s.host, "members", q, &loomv1.MembersReply{})
}

// Register asks the service register; the answer: how a project is registered now, and what of that is new.
func (s Services) Register(ctx context.Context, q *loomv1.RegisterRequest) (*loomv1.RegisterReply, error) {
	return ask(ctx, s.host, "register", q, &loomv1.RegisterReply{})
}
