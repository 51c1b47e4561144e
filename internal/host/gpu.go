package host

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

// The driver's interface, by its documentation: CUresult is an int and 0 is success, CUdevice an int, CUcontext a pointer.
typedef struct {
	int (*init)(unsigned);
	int (*count)(int *);
	int (*device)(int *, int);
	int (*name)(char *, int, int);
	int (*total)(size_t *, int);
	int (*retain)(void **, int);
	int (*release)(int);
	int (*push)(void *);
	int (*pop)(void **);
	int (*info)(size_t *, size_t *);
} hone_cuda;

static int hone_cuda_open(const char *path, hone_cuda *c) {
	void *driver = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (driver == NULL) {
		dlerror(); // or it stays with this thread, and who asks next takes it for an error of its own
		return -1;
	}
	*(void **)&c->init = dlsym(driver, "cuInit");
	*(void **)&c->count = dlsym(driver, "cuDeviceGetCount");
	*(void **)&c->device = dlsym(driver, "cuDeviceGet");
	*(void **)&c->name = dlsym(driver, "cuDeviceGetName");
	*(void **)&c->total = dlsym(driver, "cuDeviceTotalMem_v2");
	*(void **)&c->retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
	*(void **)&c->release = dlsym(driver, "cuDevicePrimaryCtxRelease_v2");
	*(void **)&c->push = dlsym(driver, "cuCtxPushCurrent_v2");
	*(void **)&c->pop = dlsym(driver, "cuCtxPopCurrent_v2");
	*(void **)&c->info = dlsym(driver, "cuMemGetInfo_v2");
	if (!c->init || !c->count || !c->device || !c->name || !c->total || !c->retain || !c->release || !c->push || !c->pop || !c->info)
		return -2;
	return c->init(0);
}

static int hone_cuda_count(hone_cuda *c, int *n) { return c->count(n); }

static int hone_cuda_device(hone_cuda *c, int i, char *name, int length, size_t *free, size_t *total) {
	int device, status;
	void *context;
	if ((status = c->device(&device, i)) || (status = c->name(name, length, device)) || (status = c->total(total, device)))
		return status;
	if ((status = c->retain(&context, device))) return status;
	if (!(status = c->push(context))) {
		status = c->info(free, total);
		c->pop(&context);
	}
	c->release(device);
	return status;
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// CUDADriver is the name of the NVIDIA driver's library, as the system's loader finds it.
const CUDADriver = "libcuda.so.1"

// GPU is one device of NVIDIA's driver. Free is what other processes leave, in bytes.
type GPU struct {
	Name        string
	Free, Total int64
}

// GPUs asks the driver for the devices this process may use; CUDA_VISIBLE_DEVICES applies. There are none, and no
// error, where no driver is installed.
func GPUs(driver string) ([]GPU, error) {
	// A context belongs to the thread it is pushed on.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	path := C.CString(driver)
	defer C.free(unsafe.Pointer(path))
	var c C.hone_cuda
	switch status := C.hone_cuda_open(path, &c); {
	case status == -1, status == 100: // 100 is CUDA_ERROR_NO_DEVICE
		return nil, nil
	case status == -2:
		return nil, fmt.Errorf("%s is too old", driver)
	case status != 0:
		return nil, fmt.Errorf("%s cannot be started: CUDA error %d", driver, status)
	}
	var n C.int
	if status := C.hone_cuda_count(&c, &n); status != 0 {
		return nil, fmt.Errorf("counting GPUs: CUDA error %d", status)
	}
	var gpus []GPU
	for i := range int(n) {
		var name [256]C.char
		var free, total C.size_t
		if status := C.hone_cuda_device(&c, C.int(i), &name[0], C.int(len(name)), &free, &total); status != 0 {
			return nil, fmt.Errorf("GPU %d: CUDA error %d", i, status)
		}
		gpus = append(gpus, GPU{C.GoString(&name[0]), int64(free), int64(total)})
	}
	return gpus, nil
}
