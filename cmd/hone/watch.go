package main

// watcher is told what the wiring hands to each room: the options it makes of the configuration. Tests follow each key by
// it to where it acts; in the program it is nil.
type watcher func(options any)

func (w watcher) see(options any) {
	if w != nil {
		w(options)
	}
}
