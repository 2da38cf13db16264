package main

// emittedJob has the fields of a Kubernetes Job that the command writes, and no
// others. So a strict reading finds misspelled fields.
type emittedJob struct {
	APIVersion, Kind string
	Metadata         struct {
		Name   string
		Labels map[string]string
	}
	Spec struct {
		CompletionMode                                                  string
		Completions, Parallelism, BackoffLimit, TTLSecondsAfterFinished int
		BackoffLimitPerIndex                                            *int
		PodFailurePolicy                                                struct {
			Rules []struct {
				Action          string
				OnPodConditions []struct{ Type, Status string }
				OnExitCodes     struct {
					ContainerName, Operator string
					Values                  []int
				}
			}
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     emittedPod
		}
	}
}

type emittedPod struct {
	RestartPolicy                                    string
	TerminationGracePeriodSeconds                    int
	AutomountServiceAccountToken, EnableServiceLinks bool
	SecurityContext                                  struct {
		RunAsNonRoot                   bool
		RunAsUser, RunAsGroup, FSGroup int
		SeccompProfile                 struct{ Type string }
	}
	Containers []struct {
		Name, Image, WorkingDir string
		Command                 []string
		Resources               struct {
			Requests struct{ CPU, Memory string }
		}
		SecurityContext struct {
			AllowPrivilegeEscalation, ReadOnlyRootFilesystem bool
			Capabilities                                     struct{ Drop []string }
		}
		VolumeMounts []struct{ Name, MountPath string }
	}
	Volumes []struct {
		Name                  string
		PersistentVolumeClaim *struct{ ClaimName string }
		EmptyDir              *struct{}
	}
}

type claim struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		AccessModes []string
		Resources   struct{ Requests struct{ Storage string } }
	}
}

// emittedWorkflow has the fields of a GitHub workflow that the command writes.
type emittedWorkflow struct {
	Name, On    string
	Permissions struct{ Contents string }
	Jobs        map[string]struct {
		Name, Needs, If string
		RunsOn          string `json:"runs-on"`
		Strategy        struct {
			FailFast bool `json:"fail-fast"`
			Matrix   struct{ Shard []int }
		}
		Steps []struct {
			Name, Uses, If, Run string
			With                map[string]string
		}
	}
}
