package main

import (
	"sync"
	"time"
)

// window is how long a pod's requests are counted for its limit: a moment's unevenness is not too much.
const window = 2 * time.Second

// limit tells which requests are more than a pod carries.
type limit struct {
	perSecond float64
	mutex     sync.Mutex
	taken     []time.Time
}

// take counts a request; false when there are too many. Without a limit all are taken.
func (l *limit) take(now time.Time) bool {
	if l.perSecond <= 0 {
		return true
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for len(l.taken) > 0 && now.Sub(l.taken[0]) > window {
		l.taken = l.taken[1:]
	}
	if float64(len(l.taken)) >= l.perSecond*window.Seconds() {
		return false
	}
	l.taken = append(l.taken, now)
	return true
}
