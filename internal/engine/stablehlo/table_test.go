package stablehlo

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What table.go writes down of the PJRT C API is compared with the header that go-xla was built with, by the C
// compiler.
func TestTableIsThatOfTheHeader(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err) // a compiled test on a machine without Go: elsewhere it is what runs the test
	}
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/gomlx/go-xla").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("table.go")
	if err != nil {
		t.Fatal(err)
	}
	_, c, _ := strings.Cut(string(source), "/*\n")
	c, _, _ = strings.Cut(c, "*/")
	var checks strings.Builder
	for _, m := range regexp.MustCompile(`\b([A-Z][A-Z_]+) = \d+`).FindAllStringSubmatch(c, -1) {
		name := regexp.MustCompile(`_?[A-Z]+`).ReplaceAllStringFunc(m[1], func(word string) string {
			word = strings.TrimPrefix(word, "_")
			return word[:1] + strings.ToLower(word[1:])
		})
		checks.WriteString("PLACE(" + m[1] + ", " + header(name) + ")\n")
	}
	for ours, s := range map[string]string{
		"hone_error_destroy":      "PJRT_Error_Destroy_Args: error",
		"hone_error_message":      "PJRT_Error_Message_Args: error message message_size",
		"hone_client_devices":     "PJRT_Client_AddressableDevices_Args: client devices/addressable_devices num_devices/num_addressable_devices",
		"hone_device_description": "PJRT_Device_GetDescription_Args: device description/device_description",
		"hone_device_kind":        "PJRT_DeviceDescription_Kind_Args: description/device_description kind/device_kind kind_size/device_kind_size",
		"hone_device_attributes":  "PJRT_DeviceDescription_Attributes_Args: description/device_description num/num_attributes all/attributes",
		"hone_named_value":        "PJRT_NamedValue: name name_size type text/string_value value_size",
		"hone_program":            "PJRT_Program: code code_size format format_size",
		"hone_compile":            "PJRT_Client_Compile_Args: client program options/compile_options options_size/compile_options_size executable",
		"hone_get_executable":     "PJRT_LoadedExecutable_GetExecutable_Args: loaded/loaded_executable executable",
		"hone_executable_destroy": "PJRT_Executable_Destroy_Args: executable",
		"hone_serialize": "PJRT_Executable_Serialize_Args: executable bytes/serialized_bytes " +
			"bytes_size/serialized_bytes_size owner/serialized_executable release/serialized_executable_deleter",
		"hone_execution": "PJRT_LoadedExecutable_Execute_Args: executable options arguments/argument_lists " +
			"num_devices num_arguments/num_args outputs/output_lists ends/device_complete_events device/execute_device",
		"hone_load": "PJRT_Executable_DeserializeAndLoad_Args: client bytes/serialized_executable " +
			"bytes_size/serialized_executable_size loaded/loaded_executable " +
			"options/overridden_serialized_compile_options options_size/overridden_serialized_compile_options_size",
	} {
		theirs, fields, _ := strings.Cut(s, ": ")
		checks.WriteString("SIZE(" + ours + ", " + theirs + ")\n")
		for _, f := range strings.Fields(fields) {
			name, other, renamed := strings.Cut(f, "/")
			if !renamed {
				other = name
			}
			checks.WriteString("FIELD(" + ours + ", " + name + ", " + theirs + ", " + other + ")\n")
		}
	}
	program := "#include \"pjrt_c_api.h\"\n#include <stddef.h>\n" + c + `
#define PLACE(ours, theirs) _Static_assert(offsetof(hone_table, functions) + 8 * ours == offsetof(PJRT_Api, theirs), #theirs);
#define SIZE(ours, theirs) _Static_assert(sizeof(ours) == theirs##_STRUCT_SIZE, #theirs);
#define FIELD(ours, a, theirs, b) _Static_assert(offsetof(ours, a) == offsetof(theirs, b), #theirs "." #b);
` + checks.String()
	file := filepath.Join(t.TempDir(), "check.c")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	args := []string{"-fsyntax-only", "-I", filepath.Join(strings.TrimSpace(string(folder)), "pjrt"), file}
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if n := strings.Count(checks.String(), "PLACE("); n != 12 {
		t.Errorf("%d functions are compared", n)
	}
}

// header is a function's name as the header writes it: the thing it belongs to, and what it does.
func header(name string) string {
	for _, of := range []string{"LoadedExecutable", "DeviceDescription", "Executable", "Client", "Device", "Error"} {
		if does, ok := strings.CutPrefix(name, of); ok {
			return "PJRT_" + of + "_" + does
		}
	}
	return name
}
