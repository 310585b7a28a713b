package agent

// devConfig is what -dev runs: one node, everything in memory, jobs to look at.
const devConfig = `
web:
  listen:
    - http://127.0.0.1:8080
jobs:
  - name: hello
    command: echo "hello from $YACRON2_NODE, firing $YACRON2_FIRING"
    schedule: "*/10 * * * * * *"
    captureStdout: true
  - name: sometimes-fails
    command: test $(( $(date +%s) / 60 % 2 )) -eq 0
    schedule: "* * * * *"
    onFailure:
      retry:
        maximumRetries: 2
        initialDelay: 2
        maximumDelay: 10
        backoffMultiplier: 2
`
