package main

import (
	"fmt"
	"net/http"
	"sort"
	"sync"
	"time"
)

// Upper bounds of the histogram's buckets, in seconds.
var bounds = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

type series struct {
	count   uint64
	seconds float64
	buckets []uint64
}

// metrics counts requests and their durations by status, in the names Flagger's built-in queries use.
type metrics struct {
	mutex    sync.Mutex
	byStatus map[int]*series
}

func (m *metrics) observe(status int, duration time.Duration) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.byStatus == nil {
		m.byStatus = map[int]*series{}
	}
	s := m.byStatus[status]
	if s == nil {
		s = &series{buckets: make([]uint64, len(bounds))}
		m.byStatus[status] = s
	}
	s.count++
	s.seconds += duration.Seconds()
	for i, bound := range bounds {
		if duration.Seconds() <= bound {
			s.buckets[i]++
		}
	}
}

func (m *metrics) serve(w http.ResponseWriter, _ *http.Request) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	statuses := make([]int, 0, len(m.byStatus))
	for status := range m.byStatus {
		statuses = append(statuses, status)
	}
	sort.Ints(statuses)
	fmt.Fprintln(w, "# TYPE http_requests_total counter")
	for _, status := range statuses {
		fmt.Fprintf(w, "http_requests_total{status=\"%d\"} %d\n", status, m.byStatus[status].count)
	}
	fmt.Fprintln(w, "# TYPE http_request_duration_seconds histogram")
	const name = "http_request_duration_seconds"
	for _, status := range statuses {
		s := m.byStatus[status]
		for i, bound := range bounds {
			fmt.Fprintf(w, "%s_bucket{status=\"%d\",le=\"%g\"} %d\n", name, status, bound, s.buckets[i])
		}
		fmt.Fprintf(w, "%s_bucket{status=\"%d\",le=\"+Inf\"} %d\n", name, status, s.count)
		fmt.Fprintf(w, "%s_sum{status=\"%d\"} %g\n%s_count{status=\"%d\"} %d\n", name, status, s.seconds, name, status, s.count)
	}
}
