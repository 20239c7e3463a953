package ratelimit

import "maps"

// mergeMetadata adds to dst what src has and dst lacks, maps within maps included,
// and returns dst. Neither src nor a map within it is changed or kept.
func mergeMetadata(dst, src map[string]any) map[string]any {
	if len(src) == 0 {
		return dst
	}
	if dst == nil {
		dst = make(map[string]any, len(src))
	}
	for k, v := range src {
		mine, isMap := v.(map[string]any)
		old, present := dst[k]
		oldMap, oldIsMap := old.(map[string]any)
		switch {
		case !present:
			dst[k] = v
		case isMap && oldIsMap:
			// The old one may belong to a rule: merge into a copy.
			dst[k] = mergeMetadata(maps.Clone(oldMap), mine)
		}
	}
	return dst
}
