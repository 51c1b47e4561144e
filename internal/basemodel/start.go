package basemodel

import (
	"hone/internal/config"
	"hone/internal/host"
)

// StartFrom is c with the base model and the adapter that training starts from, and with lengths for them.
func StartFrom(h *host.Host, c config.Config, lora GivenLoRA, adapter, base string) (config.Config, error) {
	var err error
	if c.Model.Base, err = BaseOf(adapter, base, c); err == nil {
		c.Model.Base, err = PinRevision(h, c.Model.Base)
	}
	if err == nil {
		if c, err = SettleLengths(h, c); err == nil {
			err = lora.Apply(h, &c, adapter)
		}
	}
	return c, err
}
