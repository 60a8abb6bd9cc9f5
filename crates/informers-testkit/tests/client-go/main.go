// Runs client-go's shared informer for ConfigMaps against an API server until it has seen the ConfigMap named
// "end", then prints what its store holds and what its handler has pieced together from the events.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const lastName = "end"

// versions tells the resource version of every object by its key.
type versions map[string]string

// replay keeps the state that a handler can know from its notifications alone.
type replay struct {
	mutex sync.Mutex
	state versions
	ended chan struct{}
	wrong []string
}

func (r *replay) note(object any, known bool, keep bool) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if err != nil {
		r.wrong = append(r.wrong, err.Error())
		return
	}
	if _, found := r.state[key]; found != known {
		r.wrong = append(r.wrong, fmt.Sprintf("%s: known %t, expected %t", key, found, known))
	}
	if !keep {
		delete(r.state, key)
		return
	}
	configMap := object.(*corev1.ConfigMap)
	r.state[key] = configMap.ResourceVersion
	if configMap.Name == lastName {
		close(r.ended)
	}
}

func (r *replay) equals(store versions) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return maps.Equal(r.state, store)
}

func stored(informer cache.SharedIndexInformer) versions {
	store := versions{}
	for _, object := range informer.GetStore().List() {
		configMap := object.(*corev1.ConfigMap)
		store[configMap.Namespace+"/"+configMap.Name] = configMap.ResourceVersion
	}
	return store
}

func run() error {
	kubeconfig := flag.String("kubeconfig", "", "the server to listen to")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().ConfigMaps().Informer()
	heard := &replay{state: versions{}, ended: make(chan struct{})}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { heard.note(object, false, true) },
		UpdateFunc: func(_, object any) { heard.note(object, true, true) },
		DeleteFunc: func(object any) { heard.note(object, true, false) },
	}
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	factory.Start(stop)
	if !cache.WaitForCacheSync(stop, registration.HasSynced) {
		return fmt.Errorf("the informer has not synced")
	}
	fmt.Println("synced")
	<-heard.ended

	// A list that is told in any order may tell of the last object first; the rest is on its way then.
	store := stored(informer)
	for patience := 1000; patience > 0 && !heard.equals(store); patience-- {
		time.Sleep(20 * time.Millisecond)
		store = stored(informer)
	}
	close(stop)
	factory.Shutdown()
	heard.mutex.Lock()
	defer heard.mutex.Unlock()
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"store": store, "replayed": heard.state, "wrong": heard.wrong,
	})
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
