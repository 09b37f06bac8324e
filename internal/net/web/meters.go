package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Meters are what /metrics shows: a registry of a host's own, so that nothing
// else of the process shows by chance. Labels come from closed lists alone:
// processes, nodes, roles, statuses, routes; never from a task's text.
type Meters struct {
	registry *prometheus.Registry
	appends  prometheus.Histogram
	recovery prometheus.Gauge
	requests *prometheus.CounterVec
	latency  prometheus.Histogram
	streams  prometheus.Gauge
}

// NewMeters returns meters that have measured nothing yet.
func NewMeters() *Meters {
	m := &Meters{
		registry: prometheus.NewRegistry(),
		appends: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "loom_journal_append_seconds", Help: "Time that an append to a journal took until it was durable.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16),
		}),
		recovery: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "loom_recovery_seconds", Help: "Time that this start took to recover all partitions.",
		}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "loom_http_requests_total", Help: "Requests answered, by route and status.",
		}, []string{"route", "status"}),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "loom_http_request_seconds", Help: "Time that a request took, streams left out.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "loom_http_streams", Help: "Streams of events that are open."}),
	}
	m.registry.MustRegister(m.appends, m.recovery, m.requests, m.latency, m.streams,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Appended notes how long an append took.
func (m *Meters) Appended(d time.Duration) { m.appends.Observe(d.Seconds()) }

// Recovered notes how long recovery took.
func (m *Meters) Recovered(d time.Duration) { m.recovery.Set(d.Seconds()) }

// served notes that a request was answered. A path that is no route is not a
// label: clients choose it.
func (m *Meters) served(r *http.Request, status int, d time.Duration) {
	route := r.Pattern
	if route == "" || route == "/" {
		route = "none"
	}
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	if route != eventsPattern && route != livePattern {
		m.latency.Observe(d.Seconds())
	}
}

// Family says what figures of one name mean.
type Family struct {
	// Name is the metric's; one that ends in "_total" only grows.
	Name, Help string
	Labels     []string
}

// Figure is one value of a family, with its labels' values in their order.
type Figure struct {
	Family string
	Labels []string
	Value  float64
}

// Watch shows figures that are read at each scrape, in the families given. Read
// is called from several goroutines; what it returns of other families is left
// out. It is to be called once.
func (m *Meters) Watch(families []Family, read func() []Figure) {
	w := &watched{descs: map[string]*prometheus.Desc{}, kinds: map[string]prometheus.ValueType{}, read: read}
	for _, f := range families {
		w.descs[f.Name] = prometheus.NewDesc(f.Name, f.Help, f.Labels, nil)
		w.kinds[f.Name] = prometheus.GaugeValue
		if len(f.Name) > 6 && f.Name[len(f.Name)-6:] == "_total" {
			w.kinds[f.Name] = prometheus.CounterValue
		}
	}
	m.registry.MustRegister(w)
}

// watched collects figures.
type watched struct {
	descs map[string]*prometheus.Desc
	kinds map[string]prometheus.ValueType
	read  func() []Figure
}

// Describe implements prometheus.Collector.
func (w *watched) Describe(c chan<- *prometheus.Desc) {
	for _, d := range w.descs {
		c <- d
	}
}

// Collect implements prometheus.Collector.
func (w *watched) Collect(c chan<- prometheus.Metric) {
	for _, f := range w.read() {
		if d := w.descs[f.Family]; d != nil {
			if m, err := prometheus.NewConstMetric(d, w.kinds[f.Family], f.Value, f.Labels...); err == nil {
				c <- m
			}
		}
	}
}

// metrics answers a scrape.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request, _ caller) {
	promhttp.HandlerFor(s.config.Meters.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}).ServeHTTP(w, r)
}
