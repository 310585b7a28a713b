package config

import (
	"strconv"

	"github.com/yacron2/yacron2/scheduler"
)

// herdSize is the number of jobs below which nobody minds that they start together.
const herdSize = 10

// herds warns when more than a quarter of all jobs start at one instant, as a thousand
// jobs with "0 0 * * *" do.
func (l *loader) herds(jobs []*scheduler.Job, raw []rawJob) {
	type instant struct{ schedule, zone string }
	counts := map[instant]int{}
	total := 0
	at := map[instant]pos{}
	for i, j := range jobs {
		if j.Schedule == nil || !j.Enabled || j.Schedule.Reboot() {
			continue
		}
		total++
		if !j.Schedule.FixedTime() {
			continue
		}
		key := instant{j.Schedule.Canonical(), j.Timezone}
		if counts[key]++; counts[key] == 1 {
			at[key] = raw[i].node.pos
			if n := raw[i].node.get("schedule"); n != nil {
				at[key] = n.pos
			}
		}
	}
	for key, n := range counts {
		if n >= herdSize && 4*n > total {
			l.warn(at[key], "jobs", strconv.Itoa(n)+" of "+strconv.Itoa(total)+" jobs start at the same instant as this one", "spread them over some minutes")
		}
	}
}
