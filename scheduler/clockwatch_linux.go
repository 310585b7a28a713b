package scheduler

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// WatchClock starts to watch the wall clock. It fails where the system does not tell.
func WatchClock() (*ClockWatch, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timerfd_create: %w", err)
	}
	// A timer that is far away: only that it is cancelled whenever the clock is set, and
	// when the machine wakes, is of use. It stays armed after that.
	timer := unix.ItimerSpec{Value: unix.NsecToTimespec(time.Now().AddDate(10, 0, 0).UnixNano())}
	if err := unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &timer, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("timerfd_settime: %w", err), unix.Close(fd))
	}
	file := os.NewFile(uintptr(fd), "timerfd") // non-blocking: Close ends a Read
	w := &ClockWatch{set: make(chan struct{}, 1)}
	done := make(chan struct{})
	w.stop = func() {
		_ = file.Close() // the only error is a second call
		<-done
	}
	go func() {
		defer close(done)
		var expirations [8]byte
		for {
			if _, err := file.Read(expirations[:]); err != nil && !errors.Is(err, unix.ECANCELED) {
				return // closed
			}
			w.changed()
		}
	}()
	return w, nil
}
