// Package deploy tests what others start the agent with: the image, the compose files, the
// manifests for Kubernetes, the unit for systemd, and every configuration among the
// examples. Where no container engine is at hand, a compose file's services run as
// processes all the same: each in a root folder, network and host name of its own, with
// the volumes, environment and command lines that the file gives it. The same tests run them
// in podman, and the image alone, where make containers asks for that.
package deploy
