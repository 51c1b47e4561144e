package stablehlo

/*
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// What of the PJRT C API is called here: openxla/xla, xla/pjrt/c/pjrt_c_api.h, version 0.104. Within a major version
// fields are only added at the end, so this holds for all 0.x whose table reaches that far; Probe looks at both. Each
// struct begins with its own size, by which the other side knows which fields there are.

typedef void *(*hone_function)(void *arguments); // returns a PJRT_Error, or NULL
typedef void (*hone_procedure)(void *arguments);

typedef struct {
	size_t size;
	void *extensions;
	struct { size_t size; void *extensions; int major, minor; } version;
	hone_function functions[];
} hone_table;

enum { // places in the table
	ERROR_DESTROY = 0, ERROR_MESSAGE = 1, CLIENT_ADDRESSABLE_DEVICES = 16, CLIENT_COMPILE = 20, DEVICE_DESCRIPTION_ATTRIBUTES = 25,
	DEVICE_DESCRIPTION_KIND = 26, DEVICE_GET_DESCRIPTION = 29, EXECUTABLE_DESTROY = 40, EXECUTABLE_SERIALIZE = 49, LOADED_EXECUTABLE_GET_EXECUTABLE = 51,
	LOADED_EXECUTABLE_EXECUTE = 55, EXECUTABLE_DESERIALIZE_AND_LOAD = 56,
};

typedef struct { size_t size; void *extensions, *error; } hone_error_destroy;
typedef struct { size_t size; void *extensions, *error; const char *message; size_t message_size; } hone_error_message;
typedef struct { size_t size; void *extensions, *client, **devices; size_t num_devices; } hone_client_devices;
typedef struct { size_t size; void *extensions, *device, *description; } hone_device_description;
typedef struct { size_t size; void *extensions, *description; const char *kind; size_t kind_size; } hone_device_kind;
typedef struct {
	size_t size; void *extensions;
	const char *name; size_t name_size; int type; const char *text; size_t value_size; // text, where the type is 0
} hone_named_value;
typedef struct { size_t size; void *extensions, *description; size_t num; const hone_named_value *all; } hone_device_attributes;
typedef struct { size_t size; void *extensions; const char *code; size_t code_size; const char *format; size_t format_size; } hone_program;
typedef struct { size_t size; void *extensions, *client; hone_program *program; const char *options; size_t options_size; void *executable; } hone_compile;
typedef struct { size_t size; void *extensions, *loaded, *executable; } hone_get_executable;
typedef struct { size_t size; void *extensions, *executable; } hone_executable_destroy;
typedef struct {
	size_t size; void *extensions, *executable;
	const char *bytes; size_t bytes_size; void *owner; void (*release)(void *owner);
} hone_serialize;
typedef struct {
	size_t size; void *extensions, *client;
	const char *bytes; size_t bytes_size; void *loaded; const char *options; size_t options_size;
} hone_load;
typedef struct {
	size_t size; void *extensions, *executable, *options, *arguments;
	size_t num_devices, num_arguments;
	void *outputs, *ends; // events, of each device's end
	void *device;
} hone_execution;

// hone_call is what go-xla is given as the text of a program, so that a call to compile brings its own state along.
typedef struct {
	const hone_table *table;        // the plug-in's own
	const char *text; size_t text_size;
	const char *settings; size_t settings_size; // more of a CompileOptionsProto, whose bytes go behind those of go-xla's
	const char *stored; size_t stored_size; // what to load in place of compiling the text, or NULL
	int serialize;                  // whether to return the bytes of what is compiled
	hone_serialize serialized;
	char *why;                      // why there are none
} hone_call;

// hone_why takes an error: it returns its text, to be freed.
static char *hone_why(const hone_table *t, void *error) {
	hone_error_message m = {sizeof m, NULL, error};
	((hone_procedure)t->functions[ERROR_MESSAGE])(&m);
	char *text = strndup(m.message, m.message_size);
	hone_error_destroy d = {sizeof d, NULL, error};
	((hone_procedure)t->functions[ERROR_DESTROY])(&d);
	return text;
}

static void hone_keep(hone_call *c, void *loaded) {
	const hone_table *t = c->table;
	if (t->functions[EXECUTABLE_SERIALIZE] == NULL || t->functions[EXECUTABLE_DESERIALIZE_AND_LOAD] == NULL) {
		c->why = strdup("it has no functions for that");
		return;
	}
	hone_get_executable get = {sizeof get, NULL, loaded};
	void *error = t->functions[LOADED_EXECUTABLE_GET_EXECUTABLE](&get);
	if (error == NULL) {
		c->serialized = (hone_serialize){sizeof c->serialized, NULL, get.executable};
		error = t->functions[EXECUTABLE_SERIALIZE](&c->serialized);
		hone_executable_destroy d = {sizeof d, NULL, get.executable};
		void *ignored = t->functions[EXECUTABLE_DESTROY](&d);
		if (ignored != NULL) free(hone_why(t, ignored));
	}
	if (error != NULL) c->why = hone_why(t, error);
}

// hone_compile_or_load stands where a table has PJRT_Client_Compile.
static void *hone_compile_or_load(void *arguments) {
	hone_compile *a = arguments;
	hone_call *c = (hone_call *)a->program->code;
	if (c->stored != NULL) {
		hone_load load = {sizeof load, NULL, a->client, c->stored, c->stored_size};
		void *error = c->table->functions[EXECUTABLE_DESERIALIZE_AND_LOAD](&load);
		a->executable = load.loaded;
		return error;
	}
	a->program->code = c->text;
	a->program->code_size = c->text_size;
	char *options = NULL;
	if (c->settings != NULL) {
		options = malloc(a->options_size + c->settings_size);
		memcpy(options, a->options, a->options_size);
		memcpy(options + a->options_size, c->settings, c->settings_size);
		a->options = options;
		a->options_size += c->settings_size;
	}
	void *error = c->table->functions[CLIENT_COMPILE](a);
	free(options);
	if (error == NULL && c->serialize) hone_keep(c, a->executable);
	return error;
}

// hone_running is what the thread executes next: by which plug-in's table, and whether to wait for the end.
static __thread struct { const hone_table *table; int wait; } hone_running;

static void hone_run(const hone_table *t, int wait) {
	hone_running.table = t;
	hone_running.wait = wait;
}

// hone_execute stands where a table has PJRT_LoadedExecutable_Execute. go-xla waits for the events that it asks for.
static void *hone_execute(void *arguments) {
	if (!hone_running.wait) ((hone_execution *)arguments)->ends = NULL;
	return hone_running.table->functions[LOADED_EXECUTABLE_EXECUTE](arguments);
}

// hone_shim copies a table, for good, and puts hone_compile_or_load and hone_execute into it.
static hone_table *hone_shim(const hone_table *t) {
	hone_table *copy = malloc(t->size);
	memcpy(copy, t, t->size);
	copy->functions[CLIENT_COMPILE] = hone_compile_or_load;
	copy->functions[LOADED_EXECUTABLE_EXECUTE] = hone_execute;
	return copy;
}

static void hone_release(hone_call *c) {
	if (c->serialized.owner != NULL) c->serialized.release(c->serialized.owner);
	free(c->why);
	free(c);
}

// hone_describe finds the description of the i-th device of a client; NULL behind the last. *error is set where it fails.
static void *hone_describe(const hone_table *t, void *client, size_t i, char **error) {
	hone_client_devices all = {sizeof all, NULL, client};
	void *failed = t->functions[CLIENT_ADDRESSABLE_DEVICES](&all);
	if (failed == NULL && i >= all.num_devices) return NULL;
	hone_device_description of = {sizeof of, NULL};
	if (failed == NULL) {
		of.device = all.devices[i];
		failed = t->functions[DEVICE_GET_DESCRIPTION](&of);
	}
	if (failed == NULL) return of.description;
	*error = hone_why(t, failed);
	return NULL;
}

// hone_kind returns what the i-th device of a client is, to be freed; NULL behind the last. *error is set where it fails.
static char *hone_kind(const hone_table *t, void *client, size_t i, char **error) {
	if (t->functions[DEVICE_DESCRIPTION_KIND] == NULL) {
		*error = strdup("it does not say what its devices are");
		return NULL;
	}
	hone_device_kind kind = {sizeof kind, NULL, hone_describe(t, client, i, error)};
	if (kind.description == NULL) return NULL;
	void *failed = t->functions[DEVICE_DESCRIPTION_KIND](&kind);
	if (failed == NULL) return strndup(kind.kind, kind.kind_size);
	*error = hone_why(t, failed);
	return NULL;
}

// hone_attribute returns a text that the first device of a client says of itself, to be freed; NULL where it does not, for whatever reason.
static char *hone_attribute(const hone_table *t, void *client, const char *name) {
	char *error = NULL;
	hone_device_attributes of = {sizeof of, NULL, hone_describe(t, client, 0, &error)};
	if (of.description != NULL && t->functions[DEVICE_DESCRIPTION_ATTRIBUTES] != NULL) {
		void *failed = t->functions[DEVICE_DESCRIPTION_ATTRIBUTES](&of);
		if (failed != NULL) error = hone_why(t, failed);
	}
	for (size_t i = 0; error == NULL && i < of.num; i++) {
		const hone_named_value *v = &of.all[i];
		if (v->type == 0 && v->name_size == strlen(name) && memcmp(v->name, name, v->name_size) == 0) return strndup(v->text, v->value_size);
	}
	free(error);
	return NULL;
}
*/
import "C"

import (
	"errors"
	"reflect"
	"runtime"
	"sync"
	"unsafe"

	"github.com/gomlx/go-xla/pjrt"
)

// plugin is a plug-in as go-xla knows it, with the table of its functions. go-xla can compile but not serialise, and
// waits for the end of what it executes: so it is given a copy of the table in which compiling is a function of ours,
// that loads or serialises as it is told, and executing another.
type plugin struct {
	*pjrt.Plugin
	table *C.hone_table
	hash  func() (string, error) // of the file's contents
}

// plugins are those of the process by their path. go-xla keeps one of each for good, and registering is not safe beside
// other calls of its.
var plugins struct {
	sync.Mutex
	byPath map[string]*plugin
}

// openPlugin loads the plug-in at an absolute path; a second time it returns the first.
func openPlugin(path string) (*plugin, error) {
	plugins.Lock()
	defer plugins.Unlock()
	if p := plugins.byPath[path]; p != nil {
		return p, nil
	}
	knowSignals()
	defer guardSignals()()
	head, _, err := probe(path)
	if err != nil {
		return nil, err
	}
	// go-xla asks dlerror after dlsym, in calls of their own. Between them a goroutine may change its thread, and the
	// error of another is read: of the driver that is not there, mostly.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, err := pjrt.GetPlugin(path); err != nil { // this one's use is the settings that go-xla makes for CUDA
		return nil, err
	}
	p := &plugin{table: (*C.hone_table)(head), hash: sync.OnceValues(func() (string, error) { return hashFile(path) })}
	name := "hone " + path // go-xla knows a plug-in for CUDA by its name
	if err := pjrt.RegisterPreloadedPlugin(name, uintptr(unsafe.Pointer(C.hone_shim(p.table)))); err != nil {
		return nil, err
	}
	if p.Plugin, err = pjrt.GetPlugin(name); err != nil {
		return nil, err
	}
	if plugins.byPath == nil {
		plugins.byPath = map[string]*plugin{}
	}
	plugins.byPath[path] = p
	return p, nil
}

// translation is one compilation, or one loading.
type translation struct {
	c   *C.hone_call
	pin runtime.Pinner
}

// newTranslation prepares to compile a text with more settings than go-xla makes (settingsOf), or, where stored is not
// nil, to load what one serialised.
func (p *plugin) newTranslation(text, settings string, stored []byte, serialize bool) *translation {
	k := &translation{c: (*C.hone_call)(C.calloc(1, C.sizeof_hone_call))}
	k.c.table = p.table
	k.c.text, k.c.text_size = k.keep(unsafe.StringData(text)), C.size_t(len(text))
	if settings != "" {
		k.c.settings, k.c.settings_size = k.keep(unsafe.StringData(settings)), C.size_t(len(settings))
	}
	if stored != nil {
		k.c.stored, k.c.stored_size = k.keep(unsafe.SliceData(stored)), C.size_t(len(stored))
	}
	if serialize {
		k.c.serialize = 1
	}
	return k
}

// keep has Go's memory stay where it is until release.
func (k *translation) keep(x *byte) *C.char {
	k.pin.Pin(x)
	return (*C.char)(unsafe.Pointer(x))
}

// execute runs a program. Without wait it returns when the work is set off: what fails then is told by what reads the
// results.
func (p *plugin) execute(call *pjrt.ExecutionConfig, wait bool) ([]*pjrt.Buffer, error) {
	runtime.LockOSThread() // hone_running is the thread's
	defer runtime.UnlockOSThread()
	w := C.int(0)
	if wait {
		w = 1
	}
	C.hone_run(p.table, w)
	return call.Done()
}

// text is what go-xla is to compile.
func (k *translation) text() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(k.c)), C.sizeof_hone_call)
}

// bytes returns the bytes of the compiled program, good until release, or why there are none.
func (k *translation) bytes() ([]byte, error) {
	if k.c.why != nil {
		return nil, errors.New(C.GoString(k.c.why))
	}
	s := k.c.serialized
	if s.bytes_size == 0 {
		return nil, errors.New("it serialises to nothing")
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(s.bytes)), s.bytes_size), nil
}

func (k *translation) release() {
	C.hone_release(k.c)
	k.pin.Unpin()
}

// handle is the C client of go-xla's, which has no method for it.
func handle(client *pjrt.Client) (unsafe.Pointer, error) {
	h := reflect.Indirect(reflect.ValueOf(client)).FieldByName("client") // a pointer to a struct of the C pointer
	if !h.IsValid() || h.Kind() != reflect.Pointer || !h.Elem().FieldByName("c").IsValid() {
		return nil, errors.New("this version of go-xla does not show its client")
	}
	return h.Elem().FieldByName("c").UnsafePointer(), nil
}

// kinds returns what the devices of a client are, such as "NVIDIA H200".
func (p *plugin) kinds(client *pjrt.Client) (kinds []string, err error) {
	c, err := handle(client)
	if err != nil {
		return nil, err
	}
	for {
		var why *C.char
		kind := C.hone_kind(p.table, c, C.size_t(len(kinds)), &why)
		if why != nil {
			defer C.free(unsafe.Pointer(why))
			return nil, errors.New(C.GoString(why))
		}
		if kind == nil {
			return kinds, nil
		}
		kinds = append(kinds, C.GoString(kind))
		C.free(unsafe.Pointer(kind))
	}
}

// attribute returns what the first device of a client says of itself under a name, "" where it says nothing.
func (p *plugin) attribute(client *pjrt.Client, name string) string {
	c, err := handle(client)
	if err != nil {
		return ""
	}
	key := C.CString(name)
	defer C.free(unsafe.Pointer(key))
	text := C.hone_attribute(p.table, c, key)
	if text == nil {
		return ""
	}
	defer C.free(unsafe.Pointer(text))
	return C.GoString(text)
}
