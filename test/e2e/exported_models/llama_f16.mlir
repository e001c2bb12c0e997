module @module {
  func.func @main(%arg0: !torch.vtensor<[1,20,32],f16>, %arg1: !torch.vtensor<[32,32],f16>, %arg2: !torch.vtensor<[16,32],f16>, %arg3: !torch.vtensor<[16,32],f16>, %arg4: !torch.vtensor<[32,32],f16>, %arg5: !torch.vtensor<[48,32],f16>, %arg6: !torch.vtensor<[48,32],f16>, %arg7: !torch.vtensor<[32,48],f16>, %arg8: !torch.vtensor<[32],f16>, %arg9: !torch.vtensor<[32],f16>, %arg10: !torch.vtensor<[32],f16>) -> !torch.vtensor<[1,20,32],f16> attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch.vtensor.literal(dense_resource<torch_tensor_4_torch.float32> : tensor<4xf32>) : !torch.vtensor<[4],f32>
    %int20 = torch.constant.int 20
    %none = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false = torch.constant.bool false
    %1 = torch.aten.arange %int20, %none, %none, %cpu, %false : !torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[20],si64>
    %int0 = torch.constant.int 0
    %int1 = torch.constant.int 1
    %2 = torch.aten.add.Scalar %1, %int0, %int1 : !torch.vtensor<[20],si64>, !torch.int, !torch.int -> !torch.vtensor<[20],si64>
    %3 = torch.aten.unsqueeze %2, %int0 : !torch.vtensor<[20],si64>, !torch.int -> !torch.vtensor<[1,20],si64>
    %4 = torch.aten.slice.Tensor %3, %int1, %int0, %int1, %int1 : !torch.vtensor<[1,20],si64>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[1,1],si64>
    %5 = torch.aten.sub.Scalar %4, %int1, %int1 : !torch.vtensor<[1,1],si64>, !torch.int, !torch.int -> !torch.vtensor<[1,1],si64>
    %6 = torch.prim.ListConstruct %5, %3 : (!torch.vtensor<[1,1],si64>, !torch.vtensor<[1,20],si64>) -> !torch.list<vtensor>
    %int-1 = torch.constant.int -1
    %7 = torch.aten.cat %6, %int-1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[1,21],si64>
    %8 = torch.aten.slice.Tensor %7, %int-1, %int0, %int20, %int1 : !torch.vtensor<[1,21],si64>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[1,20],si64>
    %int21 = torch.constant.int 21
    %9 = torch.aten.slice.Tensor %7, %int-1, %int1, %int21, %int1 : !torch.vtensor<[1,21],si64>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[1,20],si64>
    %10 = torch.aten.sub.Tensor %9, %8, %int1 : !torch.vtensor<[1,20],si64>, !torch.vtensor<[1,20],si64>, !torch.int -> !torch.vtensor<[1,20],si64>
    %11 = torch.aten.ne.Scalar %10, %int1 : !torch.vtensor<[1,20],si64>, !torch.int -> !torch.vtensor<[1,20],i1>
    %12 = torch.aten.cumsum %11, %int-1, %none : !torch.vtensor<[1,20],i1>, !torch.int, !torch.none -> !torch.vtensor<[1,20],si64>
    %13 = torch.prim.ListConstruct %int1, %int-1 : (!torch.int, !torch.int) -> !torch.list<int>
    %14 = torch.aten.expand %3, %13, %false : !torch.vtensor<[1,20],si64>, !torch.list<int>, !torch.bool -> !torch.vtensor<[1,20],si64>
    %15 = torch.aten.arange %int1, %none, %none, %cpu, %false : !torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[1],si64>
    %16 = torch.aten.arange %int20, %none, %none, %cpu, %false : !torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[20],si64>
    %17 = torch.aten.add.Scalar %16, %int0, %int1 : !torch.vtensor<[20],si64>, !torch.int, !torch.int -> !torch.vtensor<[20],si64>
    %18 = torch.aten.arange %int20, %none, %none, %cpu, %false : !torch.int, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[20],si64>
    %19 = torch.aten.add.Scalar %18, %int0, %int1 : !torch.vtensor<[20],si64>, !torch.int, !torch.int -> !torch.vtensor<[20],si64>
    %20 = torch.aten.unsqueeze %15, %int1 : !torch.vtensor<[1],si64>, !torch.int -> !torch.vtensor<[1,1],si64>
    %int2 = torch.constant.int 2
    %21 = torch.aten.unsqueeze %20, %int2 : !torch.vtensor<[1,1],si64>, !torch.int -> !torch.vtensor<[1,1,1],si64>
    %int3 = torch.constant.int 3
    %22 = torch.aten.unsqueeze %21, %int3 : !torch.vtensor<[1,1,1],si64>, !torch.int -> !torch.vtensor<[1,1,1,1],si64>
    %23 = torch.aten.unsqueeze %17, %int0 : !torch.vtensor<[20],si64>, !torch.int -> !torch.vtensor<[1,20],si64>
    %24 = torch.aten.unsqueeze %23, %int1 : !torch.vtensor<[1,20],si64>, !torch.int -> !torch.vtensor<[1,1,20],si64>
    %25 = torch.aten.unsqueeze %24, %int3 : !torch.vtensor<[1,1,20],si64>, !torch.int -> !torch.vtensor<[1,1,20,1],si64>
    %26 = torch.aten.unsqueeze %19, %int0 : !torch.vtensor<[20],si64>, !torch.int -> !torch.vtensor<[1,20],si64>
    %27 = torch.aten.unsqueeze %26, %int1 : !torch.vtensor<[1,20],si64>, !torch.int -> !torch.vtensor<[1,1,20],si64>
    %28 = torch.aten.unsqueeze %27, %int2 : !torch.vtensor<[1,1,20],si64>, !torch.int -> !torch.vtensor<[1,1,1,20],si64>
    %29 = torch.prim.ListConstruct  : () -> !torch.list<int>
    %int11 = torch.constant.int 11
    %30 = torch.aten.new_ones %25, %29, %int11, %none, %none, %false : !torch.vtensor<[1,1,20,1],si64>, !torch.list<int>, !torch.int, !torch.none, !torch.none, !torch.bool -> !torch.vtensor<[],i1>
    %31 = torch.prim.ListConstruct %22, %25 : (!torch.vtensor<[1,1,1,1],si64>, !torch.vtensor<[1,1,20,1],si64>) -> !torch.list<optional<vtensor>>
    %32 = torch.aten.index.Tensor %12, %31 : !torch.vtensor<[1,20],si64>, !torch.list<optional<vtensor>> -> !torch.vtensor<[1,1,20,1],si64>
    %33 = torch.prim.ListConstruct %22, %28 : (!torch.vtensor<[1,1,1,1],si64>, !torch.vtensor<[1,1,1,20],si64>) -> !torch.list<optional<vtensor>>
    %34 = torch.aten.index.Tensor %12, %33 : !torch.vtensor<[1,20],si64>, !torch.list<optional<vtensor>> -> !torch.vtensor<[1,1,1,20],si64>
    %35 = torch.aten.eq.Tensor %32, %34 : !torch.vtensor<[1,1,20,1],si64>, !torch.vtensor<[1,1,1,20],si64> -> !torch.vtensor<[1,1,20,20],i1>
    torch.aten._assert_tensor_metadata %35, %none, %none, %int11, %cpu, %int0 : !torch.vtensor<[1,1,20,20],i1>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %36 = torch.aten.bitwise_and.Tensor %30, %35 : !torch.vtensor<[],i1>, !torch.vtensor<[1,1,20,20],i1> -> !torch.vtensor<[1,1,20,20],i1>
    %37 = torch.aten.index.Tensor %14, %31 : !torch.vtensor<[1,20],si64>, !torch.list<optional<vtensor>> -> !torch.vtensor<[1,1,20,1],si64>
    %38 = torch.aten.index.Tensor %14, %33 : !torch.vtensor<[1,20],si64>, !torch.list<optional<vtensor>> -> !torch.vtensor<[1,1,1,20],si64>
    %39 = torch.aten.le.Tensor %38, %37 : !torch.vtensor<[1,1,1,20],si64>, !torch.vtensor<[1,1,20,1],si64> -> !torch.vtensor<[1,1,20,20],i1>
    torch.aten._assert_tensor_metadata %39, %none, %none, %int11, %cpu, %int0 : !torch.vtensor<[1,1,20,20],i1>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %40 = torch.aten.bitwise_and.Tensor %36, %39 : !torch.vtensor<[1,1,20,20],i1>, !torch.vtensor<[1,1,20,20],i1> -> !torch.vtensor<[1,1,20,20],i1>
    %41 = torch.prim.ListConstruct %int1, %int-1, %int20, %int20 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %42 = torch.aten.expand %40, %41, %false : !torch.vtensor<[1,1,20,20],i1>, !torch.list<int>, !torch.bool -> !torch.vtensor<[1,1,20,20],i1>
    %43 = torch.aten.unsqueeze %3, %int2 : !torch.vtensor<[1,20],si64>, !torch.int -> !torch.vtensor<[1,20,1],si64>
    %int4 = torch.constant.int 4
    torch.aten._assert_tensor_metadata %43, %none, %none, %int4, %cpu, %int0 : !torch.vtensor<[1,20,1],si64>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %int6 = torch.constant.int 6
    %44 = torch.prims.convert_element_type %43, %int6 : !torch.vtensor<[1,20,1],si64>, !torch.int -> !torch.vtensor<[1,20,1],f32>
    torch.aten._assert_tensor_metadata %0, %none, %none, %int6, %cpu, %int0 : !torch.vtensor<[4],f32>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %45 = torch.aten.mul.Tensor %44, %0 : !torch.vtensor<[1,20,1],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[1,20,4],f32>
    %46 = torch.prim.ListConstruct %45, %45 : (!torch.vtensor<[1,20,4],f32>, !torch.vtensor<[1,20,4],f32>) -> !torch.list<vtensor>
    %47 = torch.aten.cat %46, %int-1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[1,20,8],f32>
    %48 = torch.aten.cos %47 : !torch.vtensor<[1,20,8],f32> -> !torch.vtensor<[1,20,8],f32>
    %float1.000000e00 = torch.constant.float 1.000000e+00
    %49 = torch.aten.mul.Scalar %48, %float1.000000e00 : !torch.vtensor<[1,20,8],f32>, !torch.float -> !torch.vtensor<[1,20,8],f32>
    %50 = torch.aten.sin %47 : !torch.vtensor<[1,20,8],f32> -> !torch.vtensor<[1,20,8],f32>
    %51 = torch.aten.mul.Scalar %50, %float1.000000e00 : !torch.vtensor<[1,20,8],f32>, !torch.float -> !torch.vtensor<[1,20,8],f32>
    torch.aten._assert_tensor_metadata %49, %none, %none, %int6, %cpu, %int0 : !torch.vtensor<[1,20,8],f32>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %int5 = torch.constant.int 5
    %52 = torch.prims.convert_element_type %49, %int5 : !torch.vtensor<[1,20,8],f32>, !torch.int -> !torch.vtensor<[1,20,8],f16>
    torch.aten._assert_tensor_metadata %51, %none, %none, %int6, %cpu, %int0 : !torch.vtensor<[1,20,8],f32>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %53 = torch.prims.convert_element_type %51, %int5 : !torch.vtensor<[1,20,8],f32>, !torch.int -> !torch.vtensor<[1,20,8],f16>
    torch.aten._assert_tensor_metadata %arg0, %none, %none, %int5, %cpu, %int0 : !torch.vtensor<[1,20,32],f16>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %54 = torch.prims.convert_element_type %arg0, %int6 : !torch.vtensor<[1,20,32],f16>, !torch.int -> !torch.vtensor<[1,20,32],f32>
    %55 = torch.aten.pow.Tensor_Scalar %54, %int2 : !torch.vtensor<[1,20,32],f32>, !torch.int -> !torch.vtensor<[1,20,32],f32>
    %56 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %57 = torch.aten.mean.dim %55, %56, %true, %none : !torch.vtensor<[1,20,32],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[1,20,1],f32>
    %float9.999990e-07 = torch.constant.float 9.9999999999999995E-7
    %58 = torch.aten.add.Scalar %57, %float9.999990e-07, %int1 : !torch.vtensor<[1,20,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[1,20,1],f32>
    %59 = torch.aten.rsqrt %58 : !torch.vtensor<[1,20,1],f32> -> !torch.vtensor<[1,20,1],f32>
    %60 = torch.aten.mul.Tensor %54, %59 : !torch.vtensor<[1,20,32],f32>, !torch.vtensor<[1,20,1],f32> -> !torch.vtensor<[1,20,32],f32>
    torch.aten._assert_tensor_metadata %60, %none, %none, %int6, %cpu, %int0 : !torch.vtensor<[1,20,32],f32>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %61 = torch.prims.convert_element_type %60, %int5 : !torch.vtensor<[1,20,32],f32>, !torch.int -> !torch.vtensor<[1,20,32],f16>
    %62 = torch.aten.mul.Tensor %arg8, %61 : !torch.vtensor<[32],f16>, !torch.vtensor<[1,20,32],f16> -> !torch.vtensor<[1,20,32],f16>
    %63 = torch.aten.linear %62, %arg1, %none : !torch.vtensor<[1,20,32],f16>, !torch.vtensor<[32,32],f16>, !torch.none -> !torch.vtensor<[1,20,32],f16>
    %int8 = torch.constant.int 8
    %64 = torch.prim.ListConstruct %int1, %int20, %int-1, %int8 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %65 = torch.aten.view %63, %64 : !torch.vtensor<[1,20,32],f16>, !torch.list<int> -> !torch.vtensor<[1,20,4,8],f16>
    %66 = torch.aten.transpose.int %65, %int1, %int2 : !torch.vtensor<[1,20,4,8],f16>, !torch.int, !torch.int -> !torch.vtensor<[1,4,20,8],f16>
    %67 = torch.aten.linear %62, %arg2, %none : !torch.vtensor<[1,20,32],f16>, !torch.vtensor<[16,32],f16>, !torch.none -> !torch.vtensor<[1,20,16],f16>
    %68 = torch.aten.view %67, %64 : !torch.vtensor<[1,20,16],f16>, !torch.list<int> -> !torch.vtensor<[1,20,2,8],f16>
    %69 = torch.aten.transpose.int %68, %int1, %int2 : !torch.vtensor<[1,20,2,8],f16>, !torch.int, !torch.int -> !torch.vtensor<[1,2,20,8],f16>
    %70 = torch.aten.linear %62, %arg3, %none : !torch.vtensor<[1,20,32],f16>, !torch.vtensor<[16,32],f16>, !torch.none -> !torch.vtensor<[1,20,16],f16>
    %71 = torch.aten.view %70, %64 : !torch.vtensor<[1,20,16],f16>, !torch.list<int> -> !torch.vtensor<[1,20,2,8],f16>
    %72 = torch.aten.transpose.int %71, %int1, %int2 : !torch.vtensor<[1,20,2,8],f16>, !torch.int, !torch.int -> !torch.vtensor<[1,2,20,8],f16>
    %73 = torch.aten.unsqueeze %52, %int1 : !torch.vtensor<[1,20,8],f16>, !torch.int -> !torch.vtensor<[1,1,20,8],f16>
    %74 = torch.aten.unsqueeze %53, %int1 : !torch.vtensor<[1,20,8],f16>, !torch.int -> !torch.vtensor<[1,1,20,8],f16>
    %75 = torch.aten.mul.Tensor %66, %73 : !torch.vtensor<[1,4,20,8],f16>, !torch.vtensor<[1,1,20,8],f16> -> !torch.vtensor<[1,4,20,8],f16>
    %76 = torch.aten.slice.Tensor %66, %int3, %int0, %int4, %int1 : !torch.vtensor<[1,4,20,8],f16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[1,4,20,4],f16>
    %int9223372036854775807 = torch.constant.int 9223372036854775807
    %77 = torch.aten.slice.Tensor %66, %int3, %int4, %int9223372036854775807, %int1 : !torch.vtensor<[1,4,20,8],f16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[1,4,20,4],f16>
    %78 = torch.aten.neg %77 : !torch.vtensor<[1,4,20,4],f16> -> !torch.vtensor<[1,4,20,4],f16>
    %79 = torch.prim.ListConstruct %78, %76 : (!torch.vtensor<[1,4,20,4],f16>, !torch.vtensor<[1,4,20,4],f16>) -> !torch.list<vtensor>
    %80 = torch.aten.cat %79, %int-1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[1,4,20,8],f16>
    %81 = torch.aten.mul.Tensor %80, %74 : !torch.vtensor<[1,4,20,8],f16>, !torch.vtensor<[1,1,20,8],f16> -> !torch.vtensor<[1,4,20,8],f16>
    %82 = torch.aten.add.Tensor %75, %81, %int1 : !torch.vtensor<[1,4,20,8],f16>, !torch.vtensor<[1,4,20,8],f16>, !torch.int -> !torch.vtensor<[1,4,20,8],f16>
    %83 = torch.aten.mul.Tensor %69, %73 : !torch.vtensor<[1,2,20,8],f16>, !torch.vtensor<[1,1,20,8],f16> -> !torch.vtensor<[1,2,20,8],f16>
    %84 = torch.aten.slice.Tensor %69, %int3, %int0, %int4, %int1 : !torch.vtensor<[1,2,20,8],f16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[1,2,20,4],f16>
    %85 = torch.aten.slice.Tensor %69, %int3, %int4, %int9223372036854775807, %int1 : !torch.vtensor<[1,2,20,8],f16>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[1,2,20,4],f16>
    %86 = torch.aten.neg %85 : !torch.vtensor<[1,2,20,4],f16> -> !torch.vtensor<[1,2,20,4],f16>
    %87 = torch.prim.ListConstruct %86, %84 : (!torch.vtensor<[1,2,20,4],f16>, !torch.vtensor<[1,2,20,4],f16>) -> !torch.list<vtensor>
    %88 = torch.aten.cat %87, %int-1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[1,2,20,8],f16>
    %89 = torch.aten.mul.Tensor %88, %74 : !torch.vtensor<[1,2,20,8],f16>, !torch.vtensor<[1,1,20,8],f16> -> !torch.vtensor<[1,2,20,8],f16>
    %90 = torch.aten.add.Tensor %83, %89, %int1 : !torch.vtensor<[1,2,20,8],f16>, !torch.vtensor<[1,2,20,8],f16>, !torch.int -> !torch.vtensor<[1,2,20,8],f16>
    %91 = torch.aten.unsqueeze %90, %int2 : !torch.vtensor<[1,2,20,8],f16>, !torch.int -> !torch.vtensor<[1,2,1,20,8],f16>
    %92 = torch.prim.ListConstruct %int1, %int2, %int2, %int20, %int8 : (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %93 = torch.aten.expand %91, %92, %false : !torch.vtensor<[1,2,1,20,8],f16>, !torch.list<int>, !torch.bool -> !torch.vtensor<[1,2,2,20,8],f16>
    %94 = torch.aten.clone %93, %int0 : !torch.vtensor<[1,2,2,20,8],f16>, !torch.int -> !torch.vtensor<[1,2,2,20,8],f16>
    %95 = torch.prim.ListConstruct %int1, %int4, %int20, %int8 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %96 = torch.aten._unsafe_view %94, %95 : !torch.vtensor<[1,2,2,20,8],f16>, !torch.list<int> -> !torch.vtensor<[1,4,20,8],f16>
    %97 = torch.aten.unsqueeze %72, %int2 : !torch.vtensor<[1,2,20,8],f16>, !torch.int -> !torch.vtensor<[1,2,1,20,8],f16>
    %98 = torch.aten.expand %97, %92, %false : !torch.vtensor<[1,2,1,20,8],f16>, !torch.list<int>, !torch.bool -> !torch.vtensor<[1,2,2,20,8],f16>
    %99 = torch.aten.clone %98, %int0 : !torch.vtensor<[1,2,2,20,8],f16>, !torch.int -> !torch.vtensor<[1,2,2,20,8],f16>
    %100 = torch.aten._unsafe_view %99, %95 : !torch.vtensor<[1,2,2,20,8],f16>, !torch.list<int> -> !torch.vtensor<[1,4,20,8],f16>
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %float3.535530e-01 = torch.constant.float 0.35355339059327379
    %101 = torch.aten.scaled_dot_product_attention %82, %96, %100, %42, %float0.000000e00, %false, %float3.535530e-01, %false : !torch.vtensor<[1,4,20,8],f16>, !torch.vtensor<[1,4,20,8],f16>, !torch.vtensor<[1,4,20,8],f16>, !torch.vtensor<[1,1,20,20],i1>, !torch.float, !torch.bool, !torch.float, !torch.bool -> !torch.vtensor<[1,4,20,8],f16>
    %102 = torch.aten.view %101, %95 : !torch.vtensor<[1,4,20,8],f16>, !torch.list<int> -> !torch.vtensor<[1,4,20,8],f16>
    %103 = torch.aten.transpose.int %102, %int1, %int2 : !torch.vtensor<[1,4,20,8],f16>, !torch.int, !torch.int -> !torch.vtensor<[1,20,4,8],f16>
    %104 = torch.prim.ListConstruct %int1, %int20, %int-1 : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %105 = torch.aten.view %103, %104 : !torch.vtensor<[1,20,4,8],f16>, !torch.list<int> -> !torch.vtensor<[1,20,32],f16>
    %106 = torch.aten.linear %105, %arg4, %none : !torch.vtensor<[1,20,32],f16>, !torch.vtensor<[32,32],f16>, !torch.none -> !torch.vtensor<[1,20,32],f16>
    %107 = torch.aten.add.Tensor %arg0, %106, %int1 : !torch.vtensor<[1,20,32],f16>, !torch.vtensor<[1,20,32],f16>, !torch.int -> !torch.vtensor<[1,20,32],f16>
    torch.aten._assert_tensor_metadata %107, %none, %none, %int5, %cpu, %int0 : !torch.vtensor<[1,20,32],f16>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %108 = torch.prims.convert_element_type %107, %int6 : !torch.vtensor<[1,20,32],f16>, !torch.int -> !torch.vtensor<[1,20,32],f32>
    %109 = torch.aten.pow.Tensor_Scalar %108, %int2 : !torch.vtensor<[1,20,32],f32>, !torch.int -> !torch.vtensor<[1,20,32],f32>
    %110 = torch.aten.mean.dim %109, %56, %true, %none : !torch.vtensor<[1,20,32],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[1,20,1],f32>
    %111 = torch.aten.add.Scalar %110, %float9.999990e-07, %int1 : !torch.vtensor<[1,20,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[1,20,1],f32>
    %112 = torch.aten.rsqrt %111 : !torch.vtensor<[1,20,1],f32> -> !torch.vtensor<[1,20,1],f32>
    %113 = torch.aten.mul.Tensor %108, %112 : !torch.vtensor<[1,20,32],f32>, !torch.vtensor<[1,20,1],f32> -> !torch.vtensor<[1,20,32],f32>
    torch.aten._assert_tensor_metadata %113, %none, %none, %int6, %cpu, %int0 : !torch.vtensor<[1,20,32],f32>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %114 = torch.prims.convert_element_type %113, %int5 : !torch.vtensor<[1,20,32],f32>, !torch.int -> !torch.vtensor<[1,20,32],f16>
    %115 = torch.aten.mul.Tensor %arg9, %114 : !torch.vtensor<[32],f16>, !torch.vtensor<[1,20,32],f16> -> !torch.vtensor<[1,20,32],f16>
    %116 = torch.aten.linear %115, %arg5, %none : !torch.vtensor<[1,20,32],f16>, !torch.vtensor<[48,32],f16>, !torch.none -> !torch.vtensor<[1,20,48],f16>
    %117 = torch.aten.silu %116 : !torch.vtensor<[1,20,48],f16> -> !torch.vtensor<[1,20,48],f16>
    %118 = torch.aten.linear %115, %arg6, %none : !torch.vtensor<[1,20,32],f16>, !torch.vtensor<[48,32],f16>, !torch.none -> !torch.vtensor<[1,20,48],f16>
    %119 = torch.aten.mul.Tensor %117, %118 : !torch.vtensor<[1,20,48],f16>, !torch.vtensor<[1,20,48],f16> -> !torch.vtensor<[1,20,48],f16>
    %120 = torch.aten.linear %119, %arg7, %none : !torch.vtensor<[1,20,48],f16>, !torch.vtensor<[32,48],f16>, !torch.none -> !torch.vtensor<[1,20,32],f16>
    %121 = torch.aten.add.Tensor %107, %120, %int1 : !torch.vtensor<[1,20,32],f16>, !torch.vtensor<[1,20,32],f16>, !torch.int -> !torch.vtensor<[1,20,32],f16>
    torch.aten._assert_tensor_metadata %121, %none, %none, %int5, %cpu, %int0 : !torch.vtensor<[1,20,32],f16>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %122 = torch.prims.convert_element_type %121, %int6 : !torch.vtensor<[1,20,32],f16>, !torch.int -> !torch.vtensor<[1,20,32],f32>
    %123 = torch.aten.pow.Tensor_Scalar %122, %int2 : !torch.vtensor<[1,20,32],f32>, !torch.int -> !torch.vtensor<[1,20,32],f32>
    %124 = torch.aten.mean.dim %123, %56, %true, %none : !torch.vtensor<[1,20,32],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[1,20,1],f32>
    %125 = torch.aten.add.Scalar %124, %float9.999990e-07, %int1 : !torch.vtensor<[1,20,1],f32>, !torch.float, !torch.int -> !torch.vtensor<[1,20,1],f32>
    %126 = torch.aten.rsqrt %125 : !torch.vtensor<[1,20,1],f32> -> !torch.vtensor<[1,20,1],f32>
    %127 = torch.aten.mul.Tensor %122, %126 : !torch.vtensor<[1,20,32],f32>, !torch.vtensor<[1,20,1],f32> -> !torch.vtensor<[1,20,32],f32>
    torch.aten._assert_tensor_metadata %127, %none, %none, %int6, %cpu, %int0 : !torch.vtensor<[1,20,32],f32>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %128 = torch.prims.convert_element_type %127, %int5 : !torch.vtensor<[1,20,32],f32>, !torch.int -> !torch.vtensor<[1,20,32],f16>
    %129 = torch.aten.mul.Tensor %arg10, %128 : !torch.vtensor<[32],f16>, !torch.vtensor<[1,20,32],f16> -> !torch.vtensor<[1,20,32],f16>
    return %129 : !torch.vtensor<[1,20,32],f16>
  }
}

{-#
  dialect_resources: {
    builtin: {
      torch_tensor_4_torch.float32: "0x040000000000803FCDCCCC3D0AD7233C6F12833A"
    }
  }
#-}
