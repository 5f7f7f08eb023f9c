// Command app is what every pod of the test bed runs: an HTTP server whose faults are set by environment variables.
//
// Every setting X may be given as PRIMARY_X too; it then applies only in pods whose name contains "-primary-".
//
//	VERSION            the version it answers with (default: the image's tag)
//	PORT, POD_IP, POD_NAME  where it listens and who it is; set by the kubelet stand-in
//	READY              false: the readiness path answers 503
//	READY_AFTER_MS     the readiness path answers 503 until then
//	READY_FILE         the readiness path answers 503 until a file of this name exists
//	START_DELAY_MS     nothing listens until then
//	ERROR_PERCENT      share of requests answered with 500
//	ERROR_AFTER_MS     ERROR_PERCENT counts only from then on
//	DELAY_MS           every answer waits so long
//	MAX_PER_SECOND     more requests than that are answered with 503
//	CRASH_AFTER_MS     the process ends then, with CRASH_EXIT_CODE (default 1)
//	CRASH_FILE         the process ends, with CRASH_EXIT_CODE, as soon as a file of this name exists
//	SHUTDOWN_DELAY_MS  how long it still serves after SIGTERM, and after the last request since then, up to 9 s (default 3000)
package main

import (
	"context"
	"encoding/json"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// longestDrain leaves a second of the pods' grace period of ten.
const longestDrain = 9 * time.Second

var (
	started = time.Now()
	podName = os.Getenv("POD_NAME")
	primary = strings.Contains(podName, "-primary-")
)

// setting is the value of a variable, or of its PRIMARY_ form in a primary pod.
func setting(name, fallback string) string {
	if value, found := os.LookupEnv("PRIMARY_" + name); found && primary {
		return value
	}
	if value, found := os.LookupEnv(name); found {
		return value
	}
	return fallback
}

func number(name string, fallback float64) float64 {
	text := setting(name, "")
	if text == "" {
		return fallback
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		log.Fatalf("%s=%q is not a number", name, text)
	}
	return value
}

func milliseconds(name string, fallback float64) time.Duration {
	return time.Duration(number(name, fallback) * float64(time.Millisecond))
}

func role() string {
	if primary {
		return "primary"
	}
	return "canary"
}

type app struct {
	version      string
	ready        bool
	readyAfter   time.Duration
	readyFile    string
	errorPercent float64
	errorAfter   time.Duration
	delay        time.Duration
	limit        limit
	metrics      metrics
	lastRequest  atomic.Int64
}

func (a *app) serveReadiness(w http.ResponseWriter, _ *http.Request) {
	if !a.ready || time.Since(started) < a.readyAfter || !exists(a.readyFile) {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	w.Write([]byte("ready\n"))
}

func (a *app) serve(w http.ResponseWriter, _ *http.Request) {
	begin := time.Now()
	a.lastRequest.Store(begin.UnixMilli())
	time.Sleep(a.delay)
	status := http.StatusOK
	if time.Since(started) >= a.errorAfter && rand.Float64()*100 < a.errorPercent {
		status = http.StatusInternalServerError
	}
	if !a.limit.take(begin) {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"version": a.version, "pod": podName, "role": role()})
	a.metrics.observe(status, time.Since(begin))
}

// crashWith ends the process once the file is there: a fault that comes at a moment of a test's choosing, and stays.
func crashWith(path string) {
	for {
		if exists(path) {
			log.Print("crashing: ", path, " is there")
			os.Exit(int(number("CRASH_EXIT_CODE", 1)))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// drain waits until nobody sends requests any more: how long a proxy takes to hear of an ending pod depends on the machine.
func (a *app) drain(quiet time.Duration) {
	told := time.Now()
	for time.Since(told) < longestDrain {
		if time.Since(told) >= quiet && time.Since(time.UnixMilli(a.lastRequest.Load())) >= quiet {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// exists says whether a file is there; where none is named, nothing has to be.
func exists(path string) bool {
	if path == "" {
		return true
	}
	_, err := os.Stat(path)
	return err == nil
}

func listen(address string) net.Listener {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

func main() {
	time.Sleep(milliseconds("START_DELAY_MS", 0))
	a := &app{
		version:      setting("VERSION", "unknown"),
		ready:        setting("READY", "true") != "false",
		readyAfter:   milliseconds("READY_AFTER_MS", 0),
		readyFile:    setting("READY_FILE", ""),
		errorPercent: number("ERROR_PERCENT", 0),
		errorAfter:   milliseconds("ERROR_AFTER_MS", 0),
		delay:        milliseconds("DELAY_MS", 0),
		limit:        limit{perSecond: number("MAX_PER_SECOND", 0)},
	}
	if after := milliseconds("CRASH_AFTER_MS", -1); after >= 0 {
		time.AfterFunc(after, func() {
			log.Print("crashing as told")
			os.Exit(int(number("CRASH_EXIT_CODE", 1)))
		})
	}
	if path := setting("CRASH_FILE", ""); path != "" {
		go crashWith(path)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/ready", a.serveReadiness)
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("alive\n")) })
	mux.HandleFunc("/metrics", a.metrics.serve)
	mux.HandleFunc("/", a.serve)
	server := &http.Server{Handler: mux}
	listener := listen(net.JoinHostPort(os.Getenv("POD_IP"), setting("PORT", "8080")))
	log.Printf("version %s listens on %s", a.version, listener.Addr())
	go server.Serve(listener)

	signals, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	<-signals.Done()
	log.Print("told to stop")
	a.drain(milliseconds("SHUTDOWN_DELAY_MS", 3000))
	deadline, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	server.Shutdown(deadline)
}
