package leasestore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/leasestore"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// workerEnv has the configuration of a worker.
const workerEnv = "ASHLAR_LEASE_WORKER"

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if config := os.Getenv(workerEnv); config != "" {
		if err := work(config); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// worker is an instance in a process of its own.
type worker struct {
	Addr   string // of Redis
	Hit    ratelimit.Hit
	Calls  int
	Lease  bool
	Bucket *ratelimit.Limit // whose tokens it charges, instead of hits
	Admits int              // set by the worker
}

// limiter returns what decides a hit of a worker.
func (w *worker) limiter(store ratelimit.Store) (func() (bool, error), error) {
	if w.Bucket == nil {
		hits := make([]ratelimit.Hit, 1)
		return func() (bool, error) {
			hits[0] = w.Hit
			err := store.Add(context.Background(), hits)
			return hits[0].Count <= uint64(w.Hit.Limit), err
		}, nil
	}
	l, err := ratelimit.NewLimiter("processes", store, *w.Bucket, nil)
	return func() (bool, error) {
		s, err := l.Allow(context.Background(), "hot")
		return s.Allowed(), err
	}, err
}

// work makes calls in four goroutines once a line arrives on the standard input, and writes the
// result to the standard output.
func work(config string) error {
	var w worker
	if err := json.Unmarshal([]byte(config), &w); err != nil {
		return err
	}
	store, err := redisstore.New(w.Addr, nil)
	if err != nil {
		return err
	}
	leases := must(leasestore.New(store, &leasestore.Options{All: w.Lease}))
	fmt.Println()
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil && err != io.EOF {
		return err
	}
	const callers = 4
	var all sync.WaitGroup
	admits, errs := make([]int, callers), make([]error, callers)
	for c := range callers {
		all.Go(func() {
			decide, err := w.limiter(leases.Store())
			for n := 0; err == nil && n < w.Calls/callers; n++ {
				var passed bool
				if passed, err = decide(); passed && err == nil {
					admits[c]++
				}
			}
			errs[c] = err
		})
	}
	all.Wait()
	for c := range callers {
		w.Admits += admits[c]
		if errs[c] != nil {
			return errs[c]
		}
	}
	_ = leases.Close() // fails if the store can't subtract
	if err := store.Close(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(&w)
}

// TestProcesses has eight processes, one of them without leases, want more of one counter in Redis
// than its limit.
func TestProcesses(t *testing.T) {
	const processes, limit = 8, 500_000
	h := leasedHit("hot", 1, limit)
	h.Lease = false
	run := runProcesses(t, worker{Hit: h, Calls: limit * 6 / 5 / (processes - 1)}, processes)
	require.LessOrEqual(t, run.admitted, limit)
	require.GreaterOrEqual(t, run.admitted, limit*97/100)
	require.LessOrEqual(t, run.commands, run.wanted/100)
	count, err := run.server.Client().Get(t.Context(), string(h.Key)).Int()
	require.NoError(t, err)
	require.GreaterOrEqual(t, count, run.admitted)
}

// TestProcessesWithBucket is TestProcesses with a token bucket, which fills while they run.
func TestProcessesWithBucket(t *testing.T) {
	limit := ratelimit.Limit{RequestsPerUnit: 1_000_000, Unit: ratelimit.Minute, Algorithm: ratelimit.TokenBucket, Burst: 200_000}
	run := runProcesses(t, worker{Bucket: &limit, Calls: 150_000}, 8)
	most := float64(limit.Burst) + run.took.Minutes()*float64(limit.RequestsPerUnit)
	require.LessOrEqual(t, run.admitted, int(most))
	require.GreaterOrEqual(t, run.admitted, int(limit.Burst)*97/100)
	require.LessOrEqual(t, run.commands, run.wanted/100)
}

// processRun counts what processes have done.
type processRun struct {
	admitted, wanted, commands int
	took                       time.Duration
	server                     *redistest.Server
}

// runProcesses runs workers at the same time, the first one without leases.
func runProcesses(t *testing.T, of worker, processes int) (result processRun) {
	server := redistest.Start(t, nil)
	client := server.Client()
	commands := func() int {
		stats, err := client.Info(t.Context(), "stats").Result()
		require.NoError(t, err)
		_, after, _ := strings.Cut(stats, "total_commands_processed:")
		n, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(after, "\n", 2)[0]))
		require.NoError(t, err)
		return n
	}
	const plainCalls = 300
	workers := make([]worker, processes)
	run := make([]*exec.Cmd, processes)
	in, out := make([]io.WriteCloser, processes), make([]io.Reader, processes)
	wanted := 0
	for i := range workers {
		workers[i] = of
		workers[i].Addr, workers[i].Lease = server.Addr, true
		if i == 0 {
			workers[i].Calls, workers[i].Lease = plainCalls, false
		}
		wanted += workers[i].Calls
		config, err := json.Marshal(&workers[i])
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		run[i] = exec.CommandContext(ctx, os.Args[0])
		run[i].Env, run[i].Stderr = append(os.Environ(), workerEnv+"="+string(config)), os.Stderr
		in[i], err = run[i].StdinPipe()
		require.NoError(t, err)
		out[i], err = run[i].StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, run[i].Start())
		_, err = out[i].Read(make([]byte, 1))
		require.NoError(t, err)
	}
	before, began := commands(), time.Now()
	for i := range in {
		require.NoError(t, in[i].Close())
	}
	admitted := 0
	for i := range run {
		require.NoError(t, json.NewDecoder(out[i]).Decode(&workers[i]))
		require.NoError(t, run[i].Wait())
		admitted += workers[i].Admits
	}
	result = processRun{admitted, wanted, commands() - before, time.Since(began), server}
	t.Logf("%d of %d decisions admitted in %v, %d commands", admitted, wanted, result.took, result.commands)
	return result
}
