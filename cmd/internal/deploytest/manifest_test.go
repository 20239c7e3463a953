package deploytest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"
)

// The structs here are the fields of Kubernetes objects that the manifests use, by the
// API's names. A field that is not here is an error.

type meta struct {
	Name        string            `yaml:"name"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

type selector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type object struct {
	APIVersion string    `yaml:"apiVersion"`
	Kind       string    `yaml:"kind"`
	Metadata   meta      `yaml:"metadata"`
	Spec       yaml.Node `yaml:"spec"`

	Data map[string]string `yaml:"data"` // of a ConfigMap
}

type deploymentSpec struct {
	Replicas int      `yaml:"replicas"`
	Selector selector `yaml:"selector"`
	Strategy struct {
		Type          string         `yaml:"type"`
		RollingUpdate map[string]int `yaml:"rollingUpdate"`
	} `yaml:"strategy"`
	Template struct {
		Metadata meta    `yaml:"metadata"`
		Spec     podSpec `yaml:"spec"`
	} `yaml:"template"`
}

type podSpec struct {
	AutomountServiceAccountToken  *bool           `yaml:"automountServiceAccountToken"`
	EnableServiceLinks            *bool           `yaml:"enableServiceLinks"`
	TerminationGracePeriodSeconds int             `yaml:"terminationGracePeriodSeconds"`
	SecurityContext               securityContext `yaml:"securityContext"`
	TopologySpreadConstraints     []struct {
		MaxSkew           int      `yaml:"maxSkew"`
		TopologyKey       string   `yaml:"topologyKey"`
		WhenUnsatisfiable string   `yaml:"whenUnsatisfiable"`
		LabelSelector     selector `yaml:"labelSelector"`
	} `yaml:"topologySpreadConstraints"`
	Containers []container `yaml:"containers"`
	Volumes    []struct {
		Name      string `yaml:"name"`
		ConfigMap *ref   `yaml:"configMap"`
	} `yaml:"volumes"`
}

// securityContext has the fields of both a pod's and a container's.
type securityContext struct {
	RunAsNonRoot             bool  `yaml:"runAsNonRoot"`
	RunAsUser                int   `yaml:"runAsUser"`
	RunAsGroup               int   `yaml:"runAsGroup"`
	FSGroup                  int   `yaml:"fsGroup"`
	AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
	ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
	Capabilities             struct {
		Drop []string `yaml:"drop"`
	} `yaml:"capabilities"`
	SeccompProfile struct {
		Type string `yaml:"type"`
	} `yaml:"seccompProfile"`
}

type ref struct {
	Name string `yaml:"name"`
}

type container struct {
	Name            string `yaml:"name"`
	Image           string `yaml:"image"`
	ImagePullPolicy string `yaml:"imagePullPolicy"`
	EnvFrom         []struct {
		ConfigMapRef *ref `yaml:"configMapRef"`
	} `yaml:"envFrom"`
	Env []struct {
		Name      string `yaml:"name"`
		ValueFrom struct {
			SecretKeyRef struct {
				Name     string `yaml:"name"`
				Key      string `yaml:"key"`
				Optional bool   `yaml:"optional"`
			} `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	} `yaml:"env"`
	Ports []struct {
		Name          string `yaml:"name"`
		ContainerPort int    `yaml:"containerPort"`
	} `yaml:"ports"`
	ReadinessProbe *probe `yaml:"readinessProbe"`
	LivenessProbe  *probe `yaml:"livenessProbe"`
	StartupProbe   *probe `yaml:"startupProbe"`
	Lifecycle      struct {
		PreStop struct {
			Sleep struct {
				Seconds int `yaml:"seconds"`
			} `yaml:"sleep"`
		} `yaml:"preStop"`
	} `yaml:"lifecycle"`
	Resources struct {
		Requests map[string]string `yaml:"requests"`
		Limits   map[string]string `yaml:"limits"`
	} `yaml:"resources"`
	SecurityContext securityContext `yaml:"securityContext"`
	VolumeMounts    []struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
		ReadOnly  bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
}

type probe struct {
	HTTPGet *struct {
		Path string `yaml:"path"`
		Port string `yaml:"port"`
	} `yaml:"httpGet"`
	TCPSocket *struct {
		Port string `yaml:"port"`
	} `yaml:"tcpSocket"`
	PeriodSeconds    int `yaml:"periodSeconds"`
	TimeoutSeconds   int `yaml:"timeoutSeconds"`
	FailureThreshold int `yaml:"failureThreshold"`
}

type serviceSpec struct {
	ClusterIP string            `yaml:"clusterIP"`
	Selector  map[string]string `yaml:"selector"`
	Ports     []struct {
		Name       string `yaml:"name"`
		Port       int    `yaml:"port"`
		TargetPort string `yaml:"targetPort"`
	} `yaml:"ports"`
}

type budgetSpec struct {
	MaxUnavailable int      `yaml:"maxUnavailable"`
	Selector       selector `yaml:"selector"`
}

// manifest contains the objects of one file.
type manifest struct {
	deployment deploymentSpec
	service    serviceSpec
	budget     budgetSpec
	configs    map[string]map[string]string // data of ConfigMaps, by name
	names      []string                     // kind/name of each
}

// versions returns the API version of each supported kind.
func versions() map[string]string {
	return map[string]string{"ConfigMap": "v1", "Service": "v1", "Deployment": "apps/v1", "PodDisruptionBudget": "policy/v1"}
}

// parseManifest decodes the file and rejects unknown kinds and fields.
func parseManifest(text string) (*manifest, error) {
	m := &manifest{configs: map[string]map[string]string{}}
	documents := yaml.NewDecoder(strings.NewReader(text))
	documents.KnownFields(true)
	for {
		var o object
		if err := documents.Decode(&o); errors.Is(err, io.EOF) {
			return m, nil
		} else if err != nil {
			return nil, err
		}
		if err := m.add(&o); err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.Kind, o.Metadata.Name, err)
		}
	}
}

func (m *manifest) add(o *object) error {
	if versions()[o.Kind] != o.APIVersion || o.APIVersion == "" {
		return fmt.Errorf("unknown kind %q of %q", o.Kind, o.APIVersion)
	}
	m.names = append(m.names, o.Kind+"/"+o.Metadata.Name)
	switch o.Kind {
	case "Deployment":
		return strictly(&o.Spec, &m.deployment)
	case "Service":
		return strictly(&o.Spec, &m.service)
	case "PodDisruptionBudget":
		return strictly(&o.Spec, &m.budget)
	}
	m.configs[o.Metadata.Name] = o.Data
	return nil
}

// strictly decodes a node into a struct and rejects unknown fields.
func strictly(node *yaml.Node, into any) error {
	text, err := yaml.Marshal(node)
	if err != nil {
		return err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	return decoder.Decode(into)
}
