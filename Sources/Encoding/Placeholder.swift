enum EncodingPlaceholder {}
