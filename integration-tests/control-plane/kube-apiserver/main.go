// Command kube-apiserver is the API server that the integration tests talk to.
package main

import (
	"os"
	// CronJobs name time zones, and a bare machine may have no zone files.
	_ "time/tzdata"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	command := app.NewAPIServerCommand()
	os.Exit(cli.Run(command))
}
